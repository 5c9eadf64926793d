// Issuing licenses: terms, defaults of the app, customers, and idempotency keys.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { expect } from 'chai';
import { formatId, newUuid, parseId } from '../../../../core/ids.ts';
import type {
  IssueLicensesRequestSchema,
  IssueLicensesResponse,
} from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp } from '../../../support/hub/license.ts';
import { refusal } from '../../../support/hub/refusal.ts';
import { activate } from '../../../support/network/rest.ts';
import { query } from '../../../support/postgres/databases.ts';

type Request = MessageInitShape<typeof IssueLicensesRequestSchema>;

const NOW = new Date('2026-05-01T12:00:00.000Z');

describe('issuing licenses', () => {
  let hub: TestHub;
  let now = NOW;
  let app: string;
  before(async () => {
    hub = await startHub({ clock: () => now });
  });
  after(() => hub.stop());
  beforeEach(async () => {
    now = NOW;
    app = await createApp(hub.admin);
  });

  const issue = (request: Request) => hub.admin.issueLicenses({ app, ...request });
  const licenseOf = async (request: Request) => {
    const [issued] = (await issue(request)).licenses;
    return issued?.license ?? expect.fail('no license was issued');
  };
  const changeApp = (change: string) =>
    query(hub.databaseUrl, `update app set ${change} where slug = $1`, [app]);
  const insertCustomer = async (name: string, erased = false) => {
    const id = newUuid();
    await query(
      hub.databaseUrl,
      'insert into customer (id, name, created_at, erased_at) values ($1, $2, $3, $4)',
      [id, name, NOW, erased ? NOW : null],
    );
    return formatId('cus', id);
  };
  const countLicenses = async () => (await hub.admin.listLicenses({ app })).licenses.length;

  it('stores all terms, and signs those that machines see', async () => {
    const customerId = await insertCustomer('Ada Lovelace');
    const request = {
      seatLimit: 2,
      customerId,
      features: ['print', 'export'],
      graceDays: 14,
      leaseDays: 7,
      metadata: { order: 'ORD-1', edition: 'pro' },
      signedMetadata: ['edition'],
      expiresAt: { seconds: BigInt(NOW.getTime() / 1000 + 86_400), nanos: 0 },
    };
    const [{ license, licenseKey } = expect.fail()] = (await issue(request)).licenses;
    expect(license).to.deep.include({
      customer: 'Ada Lovelace',
      customerId,
      features: ['export', 'print'],
      graceDays: 14,
      leaseDays: 7,
      metadata: { order: 'ORD-1', edition: 'pro' },
      signedMetadata: ['edition'],
      keyGeneration: 1,
      keyDerivable: true,
    });
    const { body } = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(body.license).to.deep.include({
      customer: 'Ada Lovelace',
      features: ['export', 'print'],
      metadata: { edition: 'pro' },
      expiresAt: '2026-05-02T12:00:00.000Z',
      graceEndsAt: '2026-05-16T12:00:00.000Z',
      leaseExpiresAt: '2026-05-08T12:00:00.000Z',
    });
  });

  it('begins a validity at the first activation', async () => {
    const request = { validFor: { years: 1, months: 1, days: 1 } };
    const [{ license, licenseKey } = expect.fail()] = (await issue(request)).licenses;
    expect(license?.validFor).to.include({ years: 1, months: 1, days: 1 });
    expect(license?.expiresAt).to.equal(undefined);
    now = new Date('2027-01-31T00:00:00.000Z');
    const { body } = await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    expect(body.license.expiresAt).to.equal('2028-03-01T00:00:00.000Z');
  });

  it('uses the defaults of the app for terms that the request does not set', async () => {
    await changeApp('default_lease_days = 30, default_grace_days = 5, default_seat_limit = 4');
    const byDefault = await licenseOf({});
    expect([byDefault.leaseDays, byDefault.graceDays, byDefault.seats?.limit]).to.deep.equal([30, 5, 4]);
    const own = await licenseOf({ leaseDays: 0, graceDays: 0, seatLimit: -1 });
    expect([own.leaseDays, own.graceDays, own.seats?.limit]).to.deep.equal([undefined, 0, -1]);
  });

  it('refuses terms that contradict each other, and issues nothing', async () => {
    const expiresAt = { seconds: BigInt(NOW.getTime() / 1000 + 60), nanos: 0 };
    const last = { seconds: 253402300799n, nanos: 0 };
    const invalid = async (request: Request) => {
      const [code, name] = await refusal(issue(request));
      expect(code).to.equal(Code.InvalidArgument);
      return name;
    };
    expect(await invalid({ expiresAt, validFor: { days: 1 } })).to.equal('period_invalid');
    expect(await invalid({ validFor: {} })).to.equal('period_invalid');
    expect(await invalid({ expiresAt: last, graceDays: 1 })).to.equal('expiry_invalid');
    expect(await invalid({ metadata: { a: '1' }, signedMetadata: ['b'] })).to.equal(
      'signed_metadata_invalid',
    );
    expect(await invalid({ customerId: await insertCustomer('Ada'), customer: 'Ada' })).to.equal(undefined);
    expect(await countLicenses()).to.equal(0);
  });

  it('refuses customers that do not exist or are erased', async () => {
    const unknown = [Code.NotFound, 'customer_unknown'];
    expect(await refusal(issue({ customerId: formatId('cus', newUuid()) }))).to.deep.equal(unknown);
    expect(await refusal(issue({ customerId: 'Ada' }))).to.deep.equal(unknown);
    const erased = await insertCustomer('', true);
    expect(await refusal(issue({ customerId: erased }))).to.deep.equal([
      Code.FailedPrecondition,
      'customer_erased',
    ]);
    expect(await countLicenses()).to.equal(0);
  });

  it('finds a customer by email without regard to case, and creates one that is new', async () => {
    const first = await licenseOf({ customer: 'Grace', customerEmail: 'grace@example.com' });
    const second = await licenseOf({ customer: 'Another name', customerEmail: 'Grace@Example.com' });
    expect(second).to.include({ customerId: first.customerId, customer: 'Grace' });
    const byEmailOnly = await licenseOf({ customerEmail: 'new@example.com' });
    expect(byEmailOnly.customer).to.equal('new@example.com');
  });

  it('records the terms without keys, and of metadata only the names', async () => {
    const license = await licenseOf({ features: ['export'], metadata: { order: 'ORD-7' } });
    const [entry] = await query<{ after: object }>(
      hub.databaseUrl,
      `select after from audit_entry where action = 'license.issue' and after->>'first' = $1`,
      [license.licenseId],
    );
    expect(entry?.after).to.deep.include({
      count: 1,
      features: ['export'],
      metadata: ['order'],
      seatLimit: 1,
    });
  });

  describe('with an idempotency key', () => {
    const shown = ({ licenses }: IssueLicensesResponse) =>
      licenses.map(({ license, licenseKey }) => [license?.licenseId, licenseKey]);

    it('returns the same licenses and keys again, whatever has changed since', async () => {
      const request = { seatLimit: 2, count: 3, limitProfile: 'pro', idempotencyKey: 'ORD-1' };
      await hub.admin.setLimitProfile({ app, name: 'pro', limits: { a: 1n } });
      const expiresAt = { seconds: BigInt(NOW.getTime() / 1000 + 60), nanos: 0 };
      const first = await issue({ ...request, expiresAt });
      now = new Date('2027-05-01T12:00:00.000Z');
      const [{ license } = expect.fail()] = first.licenses;
      await hub.admin.revokeLicense({ licenseId: license?.licenseId ?? '', reason: 'refund' });
      expect(shown(await issue({ ...request, expiresAt }))).to.deep.equal(shown(first));
      expect(await countLicenses()).to.equal(3);
    });

    it('refuses another request under the same key, and keeps keys of apps apart', async () => {
      await issue({ seatLimit: 1, idempotencyKey: 'ORD-1' });
      expect(await refusal(issue({ seatLimit: 2, idempotencyKey: 'ORD-1' }))).to.deep.equal([
        Code.FailedPrecondition,
        'idempotency_key_reused',
      ]);
      const other = await createApp(hub.admin);
      const { licenses } = await hub.admin.issueLicenses({
        app: other,
        seatLimit: 2,
        idempotencyKey: 'ORD-1',
      });
      expect(licenses).to.have.length(1);
      expect(await countLicenses()).to.equal(1);
    });

    it('issues once for concurrent requests at two hubs', async () => {
      const beside = await startHub({ clock: () => now, beside: hub });
      try {
        const request = { app, count: 5, customer: 'Concurrent', idempotencyKey: 'ORD-2' };
        const answers = await Promise.all(
          Array.from({ length: 12 }, (_, nth) => [hub, beside][nth % 2]?.admin.issueLicenses(request)),
        );
        const results = new Set(answers.map((answer) => JSON.stringify(answer && shown(answer))));
        expect(results.size).to.equal(1);
        expect(await countLicenses()).to.equal(5);
        const rows = await query(hub.databaseUrl, `select from customer where name = 'Concurrent'`);
        expect(rows).to.have.length(1);
      } finally {
        await beside.stop();
      }
    });

    it('issues nothing and remembers nothing if the request is refused', async () => {
      const request = { limitProfile: 'late', idempotencyKey: 'ORD-3' };
      expect((await refusal(issue(request)))[1]).to.equal('limit_profile_unknown');
      await hub.admin.setLimitProfile({ app, name: 'late', limits: { a: 1n } });
      expect((await issue(request)).licenses).to.have.length(1);
    });

    it('shows no key that was replaced since', async () => {
      const request = { count: 2, idempotencyKey: 'ORD-4' };
      const [replaced, kept] = (await issue(request)).licenses;
      const licenseId = replaced?.license?.licenseId ?? '';
      await hub.admin.rekeyLicense({ licenseId });
      const again = (await issue(request)).licenses;
      expect(again.map(({ licenseKey }) => licenseKey)).to.deep.equal(['', kept?.licenseKey]);
    });

    it('names the inline customer in the stored request, so that erasing can remove its hash', async () => {
      const license = await licenseOf({ customer: 'Personal', idempotencyKey: 'ORD-5' });
      const uuid = parseId('cus', license.customerId ?? '');
      const erase = 'update idempotent_request set request_hash = null where customer_id = $1 returning key';
      expect(await query(hub.databaseUrl, erase, [uuid])).to.deep.equal([{ key: 'ORD-5' }]);
      expect((await refusal(issue({ customer: 'Personal', idempotencyKey: 'ORD-5' })))[1]).to.equal(
        'idempotency_key_reused',
      );
    });
  });
});
