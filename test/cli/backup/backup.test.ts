// Backups with hubctl: taken from a hub at work, restored into an empty one, refused when anything is wrong with them.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { startEmbeddedPostgres } from '../../../core/storage/embedded-postgres/start.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { webCrypto } from '../../core/license/verify/verifiers.ts';
import { discard, localToken, makeDataDir, postgresRuns } from '../../support/hub/data-dir.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { spawnHub } from '../../support/hub/hub-process.ts';
import { issueLicense, type TestLicense } from '../../support/hub/license.ts';
import {
  callBack,
  callbackFields,
  createSession,
  type Payments,
  pay,
  payQuietly,
  startPayments,
  untilStatus,
} from '../../support/hub/payment.ts';
import { activate, checkStatus, type RestAnswer } from '../../support/network/rest.ts';
import { waitsForLock, withClient } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { expectPrinted } from '../expect-schema.ts';
import { hubctlHere, type Printed } from '../run-here.ts';
import { start } from '../spawn-hubctl.ts';

const PASSPHRASE = 'correct horse battery staple';

describe('a backup', () => {
  let directory: string;
  let file: string;
  let passphraseFile: string;
  /**
   * The hub to back up: with a license, an activation, a paid session and one with an unprocessed callback.
   */
  let payments: Payments;
  let license: TestLicense;
  let activated: RestAnswer;
  let paid: string;
  let waiting: string;

  before(async () => {
    directory = await makeDataDir();
    file = join(directory, 'hub.age');
    passphraseFile = join(directory, 'passphrase');
    await writeFile(passphraseFile, `${PASSPHRASE}\n`, { mode: 0o600 });
    payments = await startPayments({ settings: { callbackBudgetMs: 200 } });
    license = await issueLicense(payments.hub.admin, {
      seatLimit: 2,
      customer: 'slash \\N "é" \\.',
    });
    activated = await activate(payments.hub.gatewayUrl, license.licenseKey, 'machine-1');
    const session = await createSession(payments, 'gateway_one');
    await pay(payments, session);
    // Possibly by the sweep: under load a callback is answered before the provider is queried.
    await untilStatus(payments, session, 'success');
    paid = session.sessionId;
    waiting = await leaveCallback();
  });
  after(async () => {
    await payments.tap.close();
    await payments.simulator.close();
    await discard(directory);
  });

  /** A customer has paid and the provider called back, but does not answer the hub's question. */
  async function leaveCallback(): Promise<string> {
    const session = await createSession(payments, 'gateway_one');
    const proof = payQuietly(payments, session);
    payments.tap.hold();
    await callBack(payments.hub.gatewayUrl, 'gateway_one', callbackFields(session, 'paid', proof));
    return session.sessionId;
  }

  const restore = (env: Record<string, string>, backup = file, words: string[] = []): Promise<Printed> =>
    hubctlHere(['backup', 'restore', backup, '--passphrase-file', passphraseFile, ...words], env);

  it('is created while the hub serves, encrypted, and readable by its owner only', async () => {
    let stop = false;
    const statuses = new Set<number>();
    const load = (async () => {
      while (!stop) {
        const { status } = await checkStatus(payments.hub.gatewayUrl, license.licenseId);
        statuses.add(status);
      }
    })();
    const env = { DATABASE_URL: payments.hub.databaseUrl, HUB_DATA_DIR: payments.hub.dataDir };
    const words = ['backup', 'create', '--out', file, '--passphrase-file', passphraseFile];
    const { code, stdout, stderr } = await hubctlHere([...words, '--output', 'json'], env);
    stop = true;
    await load;
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expect([...statuses]).to.deep.equal([200]);
    const { size, mode } = await stat(file);
    expect(mode & 0o777).to.equal(0o600);
    expectPrinted('backup create', JSON.parse(stdout));
    expect(JSON.parse(stdout)).to.deep.include({ file, bytes: size });
    expect((await readFile(file)).subarray(0, 21).toString()).to.equal('age-encryption.org/v1');
    expect((await hubctlHere(words, env)).stderr).to.contain(`${file} exists`);
    // The hub stops before it has processed the last callback: only the backup's job counts.
    payments.tap.hold();
    await payments.hub.stop();
  });

  it('can be verified without a hub', async () => {
    const { code, stdout, stderr } = await hubctlHere([
      'backup',
      'verify',
      file,
      '--passphrase-file',
      passphraseFile,
      '--output',
      'json',
    ]);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expectPrinted('backup verify', JSON.parse(stdout));
    expect(JSON.parse(stdout).rows).to.be.greaterThan(20);
    expect(JSON.parse(stdout).masterKeyIds).to.have.length(1);
  });

  it('restores a hub into a new data directory, which continues where the old one stopped', async () => {
    const dataDir = join(directory, 'embedded');
    const { code, stdout, stderr } = await restore({ HUB_DATA_DIR: dataDir }, file, ['--output', 'json']);
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
    expectPrinted('backup restore', JSON.parse(stdout));
    expect(await postgresRuns(dataDir)).to.equal(false);
    payments.tap.release();
    const hub = await spawnHub({ HUB_DATA_DIR: dataDir });
    try {
      const token = await localToken(dataDir);
      const transport = transportTo(hub.rpcUrl, token);

      // The license: signed before, it verifies with the key that is served now; and its seats are counted on.
      const { app } = license;
      const pem = await (await fetch(`${hub.gatewayUrl}/v1/apps/${app}/public-key`)).text();
      expect(await webCrypto.verify([JSON.stringify(activated.body.license)], pem)).to.deep.equal([true]);
      const found = await checkStatus(hub.gatewayUrl, license.licenseId, 'machine-1');
      expect(found.body).to.deep.include({ ok: true, seats: { limit: 2, used: 1 } });
      const second = await activate(hub.gatewayUrl, license.licenseKey, 'machine-2');
      expect(await webCrypto.verify([JSON.stringify(second.body.license)], pem)).to.deep.equal([true]);
      const third = await activate(hub.gatewayUrl, license.licenseKey, 'machine-3');
      expect(third.status).to.equal(409);

      // The payments: the provider takes the slot's credentials, and the job that waited is done.
      const sessions = createClient(PaymentService, transport);
      const { session } = await sessions.getChargeSession({ sessionId: paid });
      expect(session?.amount?.minorUnits).to.equal(10_000n);
      const slots = createClient(PaymentAdminService, transport);
      expect((await slots.testSlot({ slot: 'wallet' })).ok).to.equal(true);
      await until(
        async () => (await slots.listUsageLogs({})).usageLogs.some(({ sessionId }) => sessionId === waiting),
        'the session whose callback waited is settled',
        30_000,
      );
      await createClient(LicenseAdminService, transport).rotateSigningKey({ app });

      // The chain of the audit log is intact and includes the entries since.
      const chain = await hubctlHere(['audit', 'verify'], { HUB_DATA_DIR: dataDir });
      expect({ code: chain.code, stderr: chain.stderr }).to.deep.equal({ code: 0, stderr: '' });
    } finally {
      expect(await hub.stop()).to.equal(0);
    }
  });

  it('is refused with a wrong passphrase or a passphrase file that others can read, and creates nothing', async () => {
    const dataDir = join(directory, 'refused');
    const [wrong, open] = [join(directory, 'wrong'), join(directory, 'open')];
    await writeFile(wrong, `${PASSPHRASE}!\n`, { mode: 0o600 });
    await writeFile(open, `${PASSPHRASE}\n`, { mode: 0o644 });
    const refusals = await Promise.all(
      [wrong, open].map((name) =>
        hubctlHere(['backup', 'restore', file, '--passphrase-file', name], { HUB_DATA_DIR: dataDir }),
      ),
    );
    expect(refusals.map(({ code, stderr }) => [code, stderr])).to.deep.equal([
      [1, 'hubctl: the passphrase is wrong\n'],
      [
        2,
        `hubctl: --passphrase-file: passphrase file ${open} is open to other users (mode 0644). Run: chmod 600 ${open}\n`,
      ],
    ]);
    expect(existsSync(dataDir)).to.equal(false);
  });

  it('is refused with a short passphrase, without a partial file', async () => {
    const out = join(directory, 'none.age');
    const words = ['backup', 'create', '--out', out, '--passphrase-file'];
    const short = join(directory, 'short');
    await writeFile(short, 'short\n', { mode: 0o600 });
    const env = { DATABASE_URL: payments.hub.databaseUrl, HUB_DATA_DIR: join(directory, 'embedded') };
    expect((await hubctlHere([...words, short], env)).stderr).to.contain('The passphrase is too short');
    const lost = await hubctlHere([...words, passphraseFile], {
      ...env,
      DATABASE_URL: 'postgres://hub@127.0.0.1:1/hub',
    });
    expect(lost.code).to.equal(1);
    expect((await readdir(directory)).filter((name) => name.startsWith('none'))).to.deep.equal([]);
  });

  it('says that the database stopped if its hub stops meanwhile, and leaves no file', async () => {
    const dataDir = join(directory, 'embedded');
    const out = join(directory, 'lost.age');
    const hub = await spawnHub({ HUB_DATA_DIR: dataDir });
    const { url } = await startEmbeddedPostgres({ dataDir }); // finds that of the hub
    const backup = await withClient(url, async (client) => {
      await client.query('begin; lock table limit_profile in access exclusive mode');
      const words = ['backup', 'create', '--out', out, '--passphrase-file', passphraseFile];
      const running = hubctlHere(words, { HUB_DATA_DIR: dataDir });
      const waits = until(() => waitsForLock(url, 'lock table'), 'the backup waits for the table');
      await waits.finally(() => hub.stop());
      return running;
    });
    expect({ code: backup.code, stderr: backup.stderr }).to.deep.equal({
      code: 1,
      stderr:
        'hubctl: The backup failed because of the database ' +
        '(terminating connection due to administrator command). ' +
        `Nothing was written to ${out}. Run the command again.\n`,
    });
    expect((await readdir(directory)).filter((name) => name.startsWith('lost'))).to.deep.equal([]);
  });

  it('leaves a temporary file if killed; the next one removes it, but not those in use', async () => {
    const place = await makeDataDir();
    const env = { DATABASE_URL: payments.hub.databaseUrl, HUB_DATA_DIR: join(directory, 'embedded') };
    const drafts = async () => (await readdir(place)).filter((name) => name.endsWith('.part'));
    /** Starts one that waits for its passphrase, with its draft made. */
    const begin = async (name: string): Promise<{ draft: string; kill: () => Promise<void> }> => {
      const pipe = join(directory, `${name}.pipe`);
      execFileSync('mkfifo', [pipe]);
      const before = await drafts();
      const child = start(['backup', 'create', '--out', join(place, name), '--passphrase-file', pipe], env);
      const exited = once(child, 'exit');
      await until(async () => (await drafts()).length > before.length, 'the draft is made', 30_000);
      const draft = (await drafts()).find((each) => !before.includes(each)) ?? '';
      const [, pid] = /-(\d+)-\w+\.part$/.exec(draft) ?? []; // the child's own may be that of a launcher
      const kill = async (): Promise<void> => {
        process.kill(Number(pid), 'SIGKILL');
        await exited;
      };
      return { draft, kill };
    };
    try {
      const [dead, alive] = [await begin('dead.age'), await begin('alive.age')];
      await dead.kill();
      const out = join(place, 'next.age');
      const { code, stderr } = await hubctlHere(
        ['backup', 'create', '--out', out, '--passphrase-file', passphraseFile],
        env,
      );
      expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' });
      expect(await readdir(place)).to.have.members([alive.draft, 'next.age']);
      await alive.kill();
    } finally {
      await discard(place);
    }
  });

  it('is refused for a directory or an endless passphrase', async () => {
    const place = await hubctlHere(['backup', 'verify', directory, '--passphrase-file', passphraseFile]);
    expect({ code: place.code, stderr: place.stderr }).to.deep.equal({
      code: 2,
      stderr: `hubctl: ${directory} is a directory: give the file of the backup.\n`,
    });
    const endless = join(directory, 'endless');
    await writeFile(endless, 'x'.repeat(2 ** 21), { mode: 0o600 });
    const refused = await hubctlHere(['backup', 'verify', file, '--passphrase-file', endless]);
    expect({ code: refused.code, stderr: refused.stderr }).to.deep.equal({
      code: 2,
      stderr: `hubctl: --passphrase-file: passphrase file ${endless} is too large for a secret: it has more than 1 MiB\n`,
    });
  });
});
