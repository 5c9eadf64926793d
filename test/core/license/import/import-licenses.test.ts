import { createHash } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { AuditService } from '../../../../gen/hub/access/v1/audit_service_pb.ts';
import { ErrorDetailSchema } from '../../../../gen/hub/error/v1/error_pb.ts';
import type {
  ImportLicensesRequestSchema,
  ImportLicensesResponse,
} from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { LicenseState } from '../../../../gen/hub/license/v1/license_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../../support/hub/license.ts';
import { IS_LONG } from '../../../support/long.ts';
import { activate, checkStatus, deactivate } from '../../../support/network/rest.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

type Message = MessageInitShape<typeof ImportLicensesRequestSchema>;
type Line = NonNullable<Message['licenses']>[number];

const LINES = IS_LONG ? 100_000 : 5_000;

describe('import of licenses', () => {
  let hub: TestHub;
  let app: string;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());
  beforeEach(async () => {
    app = await createApp(hub.admin);
  });

  const importLines = (licenses: Line[], options: Message = {}): Promise<ImportLicensesResponse> =>
    hub.admin.importLicenses(stream([{ app, ...options }, { licenses }]));
  const countLicenses = async (): Promise<number> => {
    const sql = 'select count(*)::int as n from license l join app a on a.id = l.app_id where a.slug = $1';
    const [row] = await query<{ n: number }>(hub.databaseUrl, sql, [app]);
    return row?.n ?? -1;
  };

  it('activates an imported key in any usual way of typing it', async () => {
    const result = await importLines([
      { licenseKey: 'C1B6DE-39A6E3-DE1529-8559A0-4AF593-V3', seatLimit: 9 },
      { licenseKey: 'pro_abcdEFGHijklMNOP' },
    ]);
    expect(result).to.deep.include({ imported: 2, customersCreated: 0, errors: [] });
    const typed = [
      'C1B6DE-39A6E3-DE1529-8559A0-4AF593-V3',
      'c1b6de39a6e3de15298559a04af593v3',
      ' C1B6DE 39A6E3 DE1529 8559A0 4AF593 V3 ',
      'c1b6de–39a6e3–DE1529–8559A0–4AF593–v3',
      'pro_abcdEFGHijklMNOP',
      '  pro_abcdEFGHijklMNOP\n',
    ];
    for (const [index, key] of typed.entries()) {
      const answer = await activate(hub.gatewayUrl, key, `machine-${index}`.slice(0, index < 4 ? 9 : 7));
      expect(answer.status, key).to.equal(200);
    }
    const unknown = ['C1B6DE-39A6E3-DE1529-8559A0-4AF593-V4', 'PRO_ABCDEFGHIJKLMNOP', 'Ç1B6DE', '-', ' '];
    for (const key of unknown) {
      const { status, body } = await activate(hub.gatewayUrl, key, 'machine');
      expect([status, body.code], key).to.deep.equal([404, 'license_key_unknown']);
    }
    const released = await deactivate(hub.gatewayUrl, 'c1b6de39a6e3de15298559a04af593V3', 'machine-0');
    expect(released.body).to.deep.equal({ ok: true, released: true });
    expect((await deactivate(hub.gatewayUrl, 'C1B6', 'machine-0')).body.code).to.equal('license_key_unknown');
  });

  it('stores a key of the native form like the keys of the hub', async () => {
    const { licenseKey } = await issueLicense(hub.admin, { app });
    const other = await createApp(hub.admin);
    const taken = await importLines([{ licenseKey: licenseKey.toLowerCase() }], { app: other });
    expect(taken.errors).to.have.length(1);
    // The check symbol of zeros is 0.
    expect(await importLines([{ licenseKey: '00000-00000-00000-00000-00000' }])).to.include({ imported: 1 });
    expect((await activate(hub.gatewayUrl, 'OOOOO0000000000000000oooo', 'm')).status).to.equal(200);
  });

  it('keeps the terms, dates and revocations', async () => {
    await hub.admin.setLimitProfile({ app, name: 'pro', limits: { projects: 10n } });
    const createdAt = { seconds: 1_600_000_000n, nanos: 0 };
    await importLines([
      {
        licenseKey: 'ACTIVE-0000-0000-0001',
        seatLimit: -1,
        limitProfile: 'pro',
        limits: { files: 3n },
        features: ['sync', 'export'],
        expiresAt: { seconds: 1_900_000_000n, nanos: 0 },
        graceDays: 3,
        leaseDays: 0,
        metadata: { plan: 'gold' },
        customer: 'Ada',
        customerEmail: 'ada@example.com',
        createdAt,
      },
      { licenseKey: 'REVOKED-0000-0000-0001', revoked: true },
      { licenseKey: 'EXPIRED-0000-0000-0001', expiresAt: createdAt },
    ]);
    const { licenses } = await hub.admin.listLicenses({ app });
    const [expired, revoked, active] = licenses;
    expect(active).to.deep.include({
      keyHint: '00001',
      state: LicenseState.ACTIVE,
      limits: { projects: 10n, files: 3n },
      features: ['export', 'sync'],
      graceDays: 3,
      metadata: { plan: 'gold' },
      customer: 'Ada',
      keyDerivable: false,
    });
    expect(active?.leaseDays).to.equal(undefined);
    expect(active?.createdAt?.seconds).to.equal(createdAt.seconds);
    expect(revoked?.state).to.equal(LicenseState.REVOKED);
    expect(expired?.state).to.equal(LicenseState.EXPIRED);
    expect((await activate(hub.gatewayUrl, 'revoked000000000001', 'm')).body.code).to.equal(
      'license_revoked',
    );
    expect((await checkStatus(hub.gatewayUrl, active?.licenseId ?? '')).status).to.equal(200);
  });

  it('finds or creates customers and never changes them', async () => {
    const key = (n: number) => `CUSTOMER-TEST-${app}-${n}`.toUpperCase();
    const first = await importLines([
      { licenseKey: key(1), customer: 'Ada', customerEmail: `ada@${app}.example` },
      { licenseKey: key(2), customer: 'Other name', customerEmail: `ADA@${app}.example` },
      { licenseKey: key(3), customer: `Bob ${app}` },
      { licenseKey: key(4), customerRef: `${app}-7`, customer: 'Cy' },
      { licenseKey: key(5), customerRef: `${app}-7`, customer: 'Cyrus' },
      { licenseKey: key(6) },
    ]);
    expect(first).to.include({ imported: 6, customersCreated: 3 });
    const second = await importLines([
      { licenseKey: key(7), customer: 'New name', customerEmail: `ada@${app}.example` },
      { licenseKey: key(8), customer: `Bob ${app}` },
      { licenseKey: key(9), customerRef: `${app}-7` },
    ]);
    expect(second).to.include({ imported: 3, customersCreated: 0 });
    const { licenses } = await hub.admin.listLicenses({ app });
    const names = licenses.map(({ customer }) => customer).reverse();
    expect(names).to.deep.equal([
      'Ada',
      'Ada',
      `Bob ${app}`,
      'Cy',
      'Cy',
      undefined,
      'Ada',
      `Bob ${app}`,
      'Cy',
    ]);
  });

  it('creates one customer for rows with a reference and rows with its email or name only', async () => {
    const email = `grace@${app}.example`;
    const lines = [
      { customerEmail: email, customer: 'Grace' },
      { customerRef: `${app}-1`, customerEmail: email.toUpperCase(), customer: 'Grace Hopper' },
      { customerEmail: email },
      { customerRef: `${app}-2`, customer: `Bob ${app}` },
      { customer: `Bob ${app}` },
    ].map((customer, n) => ({ licenseKey: `SAME-PERSON-${app}-${n}`.toUpperCase(), ...customer }));
    const later = { licenseKey: `SAME-PERSON-${app}-LATER`.toUpperCase(), customerEmail: email };
    const messages = (dryRun: boolean) =>
      stream([{ app, dryRun }, { licenses: lines }, { licenses: [later] }]);
    for (const dryRun of [true, false]) {
      const result = await hub.admin.importLicenses(messages(dryRun));
      expect(result, `dry run: ${dryRun}`).to.deep.include({ imported: 6, customersCreated: 2, errors: [] });
    }
    const { licenses } = await hub.admin.listLicenses({ app });
    expect(licenses.map(({ customer }) => customer).reverse()).to.deep.equal([
      ...Array(3).fill('Grace Hopper'),
      ...Array(2).fill(`Bob ${app}`),
      'Grace Hopper',
    ]);
  });

  it('says how to import more than 100000 licenses', async () => {
    // Each line is wrong, so that the hub looks at few of them.
    const licenses = Array.from({ length: 1_000 }, () => ({ licenseKey: '-' }));
    const messages = [{ app }, ...Array(100).fill({ licenses }), { licenses: [{ licenseKey: '-' }] }];
    const error = await hub.admin.importLicenses(stream(messages)).catch(ConnectError.from);
    expect(error).to.include({
      rawMessage: 'an import may have at most 100000 licenses: split it, and import each part',
    });
  });

  it('reports the errors by line and imports nothing', async () => {
    await importLines([{ licenseKey: 'TAKEN-KEY-OF-SOMEBODY' }], { app: await createApp(hub.admin) });
    const result = await importLines([
      { line: 2, licenseKey: 'GOOD-KEY-0000-0000-0000' },
      { line: 3, licenseKey: 'short' },
      { line: 4, licenseKey: 'good key 0000 0000 0000' },
      { line: 5, licenseKey: 'taken-key-of-somebody' },
      { line: 6, licenseKey: 'schlüssel-schlüssel' },
      { line: 7, licenseKey: 'x'.repeat(129) },
      { line: 8, licenseKey: '-------------------' },
      {
        line: 9,
        licenseKey: 'BAD-TERMS-0000-0000-0000',
        seatLimit: -2,
        limitProfile: 'none',
        limits: { '9': 1n },
        features: ['no spaces'],
        graceDays: 9_999,
        leaseDays: -1,
        metadata: { ok: 'a\nb' },
        customerEmail: 'nobody',
        createdAt: { seconds: 32_000_000_000n, nanos: 0 },
        expiresAt: { seconds: 999_999_999_999n, nanos: 0 },
      },
      {
        line: 10,
        licenseKey: 'ENDLESS-GRACE-0000-0000',
        expiresAt: { seconds: 253_402_300_799n, nanos: 0 },
        graceDays: 1,
      },
    ]);
    expect(result).to.include({ imported: 0, customersCreated: 0 });
    const found = result.errors.map(({ line, field }) => `${line} ${field}`);
    expect(found).to.deep.equal([
      '3 licenseKey',
      '4 licenseKey',
      '5 licenseKey',
      '6 licenseKey',
      '7 licenseKey',
      '8 licenseKey',
      '9 seatLimit',
      '9 limits',
      '9 features',
      '9 graceDays',
      '9 leaseDays',
      '9 metadata',
      '9 customerEmail',
      '9 limitProfile',
      '9 expiresAt',
      '9 createdAt',
      '10 expiresAt',
    ]);
    expect(result.errors[1]?.message).to.equal(
      'is the same as in line 2: each license needs a key of its own',
    );
    expect(await countLicenses()).to.equal(0);
  });

  it('refuses a key that was replaced, and names its license', async () => {
    const old = ['REPLACED-0000-0000-0001', 'REPLACED-0000-0000-0002'];
    await importLines(old.map((licenseKey) => ({ licenseKey })));
    const own = await issueLicense(hub.admin, { app });
    const { licenses } = await hub.admin.listLicenses({ app });
    const [second = expect.fail(), first = expect.fail()] = licenses
      .map(({ licenseId }) => licenseId)
      .filter((id) => id !== own.licenseId);
    for (const licenseId of [first, first, own.licenseId]) await hub.admin.rekeyLicense({ licenseId });
    const again = [...old, 'UNUSED-0000-0000-0000', own.licenseKey].map((licenseKey) => ({
      licenseKey: licenseKey.toLowerCase(),
    }));
    const other = await createApp(hub.admin);
    for (const options of [{}, { dryRun: true }, { app: other }]) {
      const { imported, errors } = await importLines(again, options);
      const license = (id: string) => ('app' in options ? 'a license of another app' : `the license ${id}`);
      expect(imported).to.equal(0);
      expect(errors.map(({ line, field, message }) => [line, field, message])).to.deep.equal([
        [1, 'licenseKey', `was the key of ${license(first)} until it was replaced: leave this line out`],
        [2, 'licenseKey', `is the key of ${license(second)} already`],
        [
          4,
          'licenseKey',
          `was the key of ${license(own.licenseId)} until it was replaced: leave this line out`,
        ],
      ]);
    }
    expect(await countLicenses()).to.equal(3);
    for (const key of [old[0], own.licenseKey]) {
      const { status, body } = await activate(hub.gatewayUrl, key ?? '', 'machine');
      expect([status, body.code]).to.deep.equal([404, 'license_key_unknown']);
    }
  });

  it('imports short keys if it is allowed to, and stores nothing that verifies a guess', async () => {
    const pin = '482913';
    expect((await importLines([{ licenseKey: pin }])).errors).to.have.length(1);
    expect(await importLines([{ licenseKey: pin }], { allowShort: true })).to.include({ imported: 1 });
    expect((await activate(hub.gatewayUrl, pin, 'm')).status).to.equal(200);
    const tables = ['license', 'key_secret', 'audit_entry', 'customer', 'app', 'seat'];
    const columns: Buffer[] = [];
    let dump = '';
    for (const table of tables) {
      const rows = await query<Record<string, unknown>>(hub.databaseUrl, `select * from ${table}`);
      dump += JSON.stringify(rows);
      for (const row of rows) {
        for (const value of Object.values(row))
          columns.push(Buffer.isBuffer(value) ? value : Buffer.from(String(value)));
      }
    }
    expect(dump).to.not.include(pin);
    const { createHmac } = await import('node:crypto');
    const [stored] = await query<{ hash: Buffer }>(
      hub.databaseUrl,
      'select key_hash as hash from license order by id desc limit 1',
    );
    const guesses = [
      createHash('sha256').update(pin).digest(),
      ...columns.map((column) => createHmac('sha256', column).update(pin).digest()),
      ...columns.map((column) => createHmac('sha256', pin).update(column).digest()),
    ];
    for (const guess of guesses) expect(stored?.hash.equals(guess)).to.equal(false);
  });

  it('changes nothing in a dry run', async () => {
    const lines = [
      { licenseKey: 'DRY-RUN-0000-0000-0001', customer: 'Dry', customerEmail: `dry@${app}.example` },
      { licenseKey: 'DRY-RUN-0000-0000-0002', customerEmail: `dry@${app}.example` },
    ];
    expect(await importLines(lines, { dryRun: true })).to.include({ imported: 2, customersCreated: 1 });
    expect(await countLicenses()).to.equal(0);
    expect(await importLines(lines)).to.include({ imported: 2, customersCreated: 1 });
    const again = await importLines(lines, { dryRun: true });
    expect(again.errors.map(({ field }) => field)).to.deep.equal(['licenseKey', 'licenseKey']);
  });

  it('records counts in the audit log, and no key', async () => {
    await importLines([
      { licenseKey: 'AUDIT-0000-0000-0001', customer: 'Ada' },
      { licenseKey: 'AUDIT-0000-0000-0002' },
    ]);
    const [entry] = await query<{ after: object }>(
      hub.databaseUrl,
      `select after from audit_entry where action = 'license.import' order by id desc limit 1`,
    );
    expect(entry?.after).to.include({ count: 2, revoked: 0 });
    const [dump] = await query<{ text: string }>(
      hub.databaseUrl,
      'select json_agg(e)::text as text from audit_entry e',
    );
    expect(dump?.text).to.not.match(/AUDIT-?0000/);
  });

  it('runs one import at a time', async () => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    async function* slow(): AsyncIterable<Message> {
      yield { app };
      yield { licenses: [{ licenseKey: 'SLOW-IMPORT-0000-0000' }] };
      await gate;
    }
    const first = hub.admin.importLicenses(slow());
    await untilImporting(hub);
    expect(await codeOf(importLines([{ licenseKey: 'OTHER-IMPORT-0000-0000' }]))).to.deep.equal([
      Code.Unavailable,
      'overloaded',
    ]);
    open();
    expect(await first).to.include({ imported: 1 });
  });

  it('leaves an audit log that verifies if the stream takes longer than the log tolerates', async () => {
    let aheadMs = 0;
    const slowHub = await startHub({ clock: () => new Date(Date.now() + aheadMs) });
    try {
      const slug = await createApp(slowHub.admin);
      const { promise: gate, resolve: open } = Promise.withResolvers<void>();
      async function* slow(): AsyncIterable<Message> {
        yield { app: slug };
        await gate;
        yield { licenses: [{ licenseKey: 'LONG-IMPORT-0000-0000' }] };
      }
      const importing = slowHub.admin.importLicenses(slow());
      await untilImporting(slowHub);
      aheadMs = 11 * 60_000;
      await createApp(slowHub.admin);
      const audit = createClient(AuditService, slowHub.transport);
      await audit.verifyAuditLog({}); // links the entry of the app before that of the import
      open();
      expect(await importing).to.include({ imported: 1 });
      const { ok, broken } = await audit.verifyAuditLog({});
      expect({ ok, broken }).to.deep.equal({ ok: true, broken: undefined });
    } finally {
      await slowHub.stop();
    }
  });

  it('refuses an unknown app, a second app and too many licenses', async () => {
    const line = { licenseKey: 'ANY-KEY-0000-0000-0000' };
    expect(await codeOf(hub.admin.importLicenses(stream([])))).to.deep.equal([Code.NotFound, 'app_unknown']);
    const two = stream([{ app, licenses: [line] }, { app: 'another' }]);
    expect(await codeOf(hub.admin.importLicenses(two))).to.deep.equal([
      Code.InvalidArgument,
      'import_invalid',
    ]);
    const many = stream([{ app, licenses: Array.from({ length: 1_001 }, () => line) }]);
    expect(await codeOf(hub.admin.importLicenses(many))).to.deep.equal([
      Code.InvalidArgument,
      'import_invalid',
    ]);
    expect(await countLicenses()).to.equal(0);
  });

  it('finds an imported key at another hub at once', async () => {
    const other = await startHub({ beside: hub });
    try {
      expect((await activate(other.gatewayUrl, 'TWO-HUBS-0000-0000-0000', 'm')).status).to.equal(404);
      await importLines([{ licenseKey: 'TWO-HUBS-0000-0000-0000' }]);
      expect((await activate(other.gatewayUrl, 'two-hubs-0000-0000-0000', 'm')).status).to.equal(200);
    } finally {
      await other.stop();
    }
  });

  it(`imports ${LINES} licenses in less than a minute`, async () => {
    async function* lines(): AsyncIterable<Message> {
      yield { app };
      for (let from = 0; from < LINES; from += 500) {
        yield {
          licenses: Array.from({ length: 500 }, (_, index) => ({
            licenseKey: `BULK-${app}-${from + index}`.toUpperCase(),
            seatLimit: 2,
            customer: `Customer ${from + index}`,
            customerEmail: `c${from + index}@${app}.example`,
            features: ['export'],
            metadata: { order: `${from + index}` },
            expiresAt: { seconds: 1_900_000_000n, nanos: 0 },
          })),
        };
      }
    }
    const begun = performance.now();
    const result = await hub.admin.importLicenses(lines(), { timeoutMs: 0 });
    const seconds = (performance.now() - begun) / 1_000;
    expect(result).to.include({ imported: LINES, customersCreated: LINES });
    expect(seconds).to.be.below(60);
  });
});

async function untilImporting({ databaseUrl }: TestHub): Promise<void> {
  const free = `select from hub_lock where name = 'license_import' for update skip locked`;
  await until(async () => (await query(databaseUrl, free)).length === 0, 'an import holds its lock');
}

async function* stream(messages: Message[]): AsyncIterable<Message> {
  yield* messages;
}

async function codeOf(call: Promise<unknown>): Promise<[Code, string | undefined]> {
  try {
    await call;
  } catch (thrown) {
    const error = ConnectError.from(thrown);
    return [error.code, error.findDetails(ErrorDetailSchema)[0]?.code];
  }
  throw new Error('the call succeeded');
}
