// No log line, no answer and no error ever shows a token, a license key, a private key or a master key.
import { createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConnectError, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { newServiceToken } from '../../../core/access/token-format.ts';
import { sealedFor } from '../../../core/license/keys/sign-license.ts';
import { openDataDir } from '../../../core/storage/data-dir.ts';
import { loadKeyRing } from '../../../core/storage/secrets/load-key-ring.ts';
import { createSealer } from '../../../core/storage/secrets/sealing.ts';
import { LicenseService } from '../../../gen/hub/license/v1/license_service_pb.ts';
import { startHub, type TestHub, transportTo } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { randomLicenseKey } from '../../support/license-key.ts';
import { activate, deactivate, post } from '../../support/network/rest.ts';
import { query, readServerLog } from '../../support/postgres/databases.ts';

describe('secrets', () => {
  let hub: TestHub;
  const log: string[] = [];
  const told: string[] = [];
  const secrets = new Map<string, string>();
  /** The length of PostgreSQL's log before this test. */
  let logged = 0;

  before(async () => {
    logged = (await readServerLog()).length;
    hub = await startHub({ log: { write: (line) => log.push(line) } });
    secrets.set('the admin token', hub.token);
    await workAndFail();
    await revealKeys();
  });
  after(() => hub.stop());

  it('exist in the data of this test', () => {
    expect(log.length).to.be.greaterThan(20);
    expect(log.some((line) => line.includes('unexpected error'))).to.equal(true);
    expect(told.length).to.be.greaterThan(10);
    expect([...secrets.keys()].join()).to.match(/an issued license key.*private key.*the master key/);
  });

  it('do not appear in the log', () => expectNone(log));

  it('do not appear in responses and errors', () => expectNone(told));

  it('do not appear in the log of PostgreSQL, not even sealed', async () => {
    const serverLog = (await readServerLog()).slice(logged);
    expect(serverLog).to.contain('violates check constraint "refuse"');
    expectNone([serverLog]);
    expect(serverLog.match(/^.*insert into "(?:signing_key|license)".*$/m)?.[0]).to.equal(undefined);
  });

  function expectNone(texts: readonly string[]): void {
    const lowered = texts.map((text) => text.toLowerCase()); // once, not for each secret
    for (const [name, secret] of secrets) {
      for (const form of formsOf(secret)) {
        expect(
          lowered.find((text) => text.includes(form.toLowerCase())),
          `shows ${name}`,
        ).to.equal(undefined);
      }
    }
  }

  /** Every kind of request that has a secret in it, and every way of failing. */
  async function workAndFail(): Promise<void> {
    const { licenseKey, licenseId, app } = await issueLicense(hub.admin, { seatLimit: 1 });
    const unknownKey = randomLicenseKey();
    const mistyped = `${licenseKey.slice(0, -1)}${licenseKey.endsWith('A') ? 'B' : 'A'}`;
    const tooLong = licenseKey.repeat(6);
    const wrongToken = newServiceToken();
    secrets.set('an issued license key', licenseKey);
    secrets.set('an unknown license key', unknownKey);
    secrets.set('a mistyped license key', mistyped);
    secrets.set('a wrong token', wrongToken);

    const licenses = createClient(LicenseService, hub.transport);
    for (const key of [licenseKey, unknownKey, mistyped, tooLong]) {
      for (const machine of ['machine-1', 'machine-2', 'two\nlines']) {
        hear(await activate(hub.gatewayUrl, key, machine));
        await tell(licenses.activate({ licenseKey: key, machineFingerprint: machine }));
      }
      hear(await deactivate(hub.gatewayUrl, key, 'machine-9'));
      hear(
        await post(hub.gatewayUrl, '/v1/activate', { licenseKey: [key], machineFingerprint: 'machine-1' }),
      );
      hear(await post(hub.gatewayUrl, `/v1/${key}`, { [key]: key }));
    }
    await tell(hub.admin.rotateSigningKey({ app }));
    await tell(hub.admin.getApp({ app }));
    await tell(hub.admin.getLicense({ licenseId }));
    await tell(hub.admin.revokeLicense({ licenseId, reason: 'test' }));
    hear(await activate(hub.gatewayUrl, licenseKey, 'machine-1'));
    await tell(createClient(LicenseService, transportTo(hub.rpcUrl, wrongToken)).getJwks({ app }));
    await failInside(licenseKey);
  }

  /** Statements with secrets among their parameters fail, on the hot path and in the ORM. */
  async function failInside(licenseKey: string): Promise<void> {
    const refuseRows = (table: string) =>
      query(hub.databaseUrl, `alter table ${table} add constraint refuse check (false) not valid`);
    const app = await createApp(hub.admin);
    await refuseRows('signing_key');
    await tell(hub.admin.createApp({ slug: 'refused' }));
    await tell(hub.admin.rotateSigningKey({ app }));
    await refuseRows('license');
    await tell(hub.admin.issueLicenses({ app, seatLimit: 1 }));
    await query(hub.databaseUrl, 'alter table seat rename to elsewhere');
    const other = { licenseKey, machineFingerprint: 'machine-3' };
    await query(hub.databaseUrl, 'alter table license drop constraint refuse');
    await query(hub.databaseUrl, 'update license set revoked_at = null');
    await tell(createClient(LicenseService, hub.transport).activate(other));
    hear(await activate(hub.gatewayUrl, licenseKey, 'machine-3'));
  }

  async function tell(call: Promise<object>): Promise<void> {
    try {
      hear(await call);
    } catch (error) {
      const { message, details, metadata, cause } = ConnectError.from(error);
      hear({ message, details, metadata: [...metadata], cause: String(cause) });
    }
  }

  function hear(answer: object): void {
    told.push(JSON.stringify(answer, (_, value) => (typeof value === 'bigint' ? String(value) : value)));
  }

  /** What is sealed in the database, opened with the master key of the data directory. */
  async function revealKeys(): Promise<void> {
    const dataDir = await openDataDir(hub.dataDir);
    const { keys } = await loadKeyRing({}, dataDir);
    const sealer = createSealer(keys);
    const rows = await query<{ id: string; sealed_private_key: Buffer }>(
      hub.databaseUrl,
      'select id, sealed_private_key from signing_key',
    );
    for (const { id, sealed_private_key } of rows) {
      const key = sealer.open(sealed_private_key, sealedFor(id));
      const { d } = createPrivateKey({ key, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' });
      secrets.set(`private key ${secrets.size}`, d ?? '');
    }
    const file = await readFile(join(hub.dataDir, 'master.key'), 'utf8');
    secrets.set('the master key', file.trim().split('\n').at(-1)?.trim() ?? '');
  }
});

/** The secret itself, without its dashes, in hexadecimal and in base64; of bytes in base64url also their other forms. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, 'base64url');
  return [
    secret,
    secret.replaceAll('-', ''),
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('base64url'),
    bytes.toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    JSON.stringify([...bytes]).slice(1, -1),
  ];
}
