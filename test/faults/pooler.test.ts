// Runs hubs behind a pooler that changes the session for each transaction: no request fails, and sessions
// keep no state.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { openQuietly } from '../../cli/backup/local-database.ts';
import { checkPooler } from '../../cli/doctor/pooler-check.ts';
import { readSettings } from '../../cli/serve/settings.ts';
import { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { hubctlHere } from '../cli/run-here.ts';
import { discard, makeDataDir } from '../support/hub/data-dir.ts';
import { startHub } from '../support/hub/hub.ts';
import { issueLicense } from '../support/hub/license.ts';
import { createSession, pay, startPayments, untilStatus } from '../support/hub/payment.ts';
import { IS_LONG } from '../support/long.ts';
import { activate } from '../support/network/rest.ts';
import { createDatabase } from '../support/postgres/databases.ts';
import { type PgBouncer, requirePgBouncer, startPgBouncer } from '../support/postgres/pgbouncer.ts';
import { runBehindPooler } from './runs/pooler-run.ts';

describe('a hub behind PgBouncer in transaction mode', function () {
  this.timeout(300_000); // it starts many processes
  before(function () {
    requirePgBouncer(this);
  });

  it('fails no request and no start, whatever other clients leave in the sessions', async () => {
    const [requests, restarts] = IS_LONG ? [1_000, 5] : [200, 1];
    const { trouble, served, payments, disturbances } = await runBehindPooler({ requests, restarts });
    expect(trouble).to.deep.equal([]);
    expect(served).to.equal(requests);
    expect(Math.min(payments, disturbances)).to.be.above(requests / 20);
  });

  describe('with a database of its own', () => {
    let databaseUrl: string;
    let bouncer: PgBouncer;
    beforeEach(async () => {
      databaseUrl = await createDatabase();
      bouncer = await startPgBouncer(databaseUrl);
    });
    afterEach(() => bouncer?.stop());

    it('names the missing setting', async () => {
      const failed = await openQuietly({ url: bouncer.url }).catch((error: Error) => error);
      expect(failed)
        .to.have.property('message')
        .that.contains('unsupported startup parameter')
        .and.contains('set HUB_DATABASE_POOLER=transaction');
    });

    it('gets from the doctor the addresses that lead through a pooler', async () => {
      const check = (environment: Record<string, string>) => checkPooler(readSettings({}, environment));
      const through = { DATABASE_URL: bouncer.url, HUB_DATABASE_POOLER: 'transaction' };
      expect(await check({ DATABASE_URL: databaseUrl })).to.equal(undefined);
      expect(await check({ DATABASE_URL: bouncer.url })).to.include({ state: 'warning' });
      expect(await check(through)).to.include({ state: 'ok' });
      expect(await check({ ...through, HUB_DATABASE_DIRECT_URL: databaseUrl })).to.include({ state: 'ok' });
      const other = await createDatabase();
      for (const direct of [bouncer.url, other, 'postgres://hub@127.0.0.1:1/hub']) {
        const finding = await check({ ...through, HUB_DATABASE_DIRECT_URL: direct });
        expect(finding, direct).to.have.property('state').that.not.equals('ok');
        expect(finding?.remedy).to.contain('HUB_DATABASE_DIRECT_URL');
      }
    });

    for (const way of ['with a direct address', 'without one']) {
      it(`${way} announces status changes, and is backed up and restored`, async () => {
        const directory = await makeDataDir();
        const direct = way === 'without one' ? undefined : databaseUrl;
        const settings = {
          databaseUrl: bouncer.url,
          databasePooler: 'transaction',
          databaseDirectUrl: direct,
        } as const;
        const { databaseDirectUrl: _, ...alone } = settings;
        const payments = await startPayments({
          settings: direct === undefined ? alone : { ...alone, databaseDirectUrl: direct },
        });
        const { licenseKey } = await issueLicense(payments.hub.admin);
        const session = await createSession(payments, 'gateway_one');
        const changes: number[] = [];
        const watching = (async () => {
          for await (const { session: seen } of payments.sessions.watchChargeSession({
            sessionId: session.sessionId,
          })) {
            changes.push(seen?.status ?? 0);
            if (changes.length === 2) return;
          }
        })();
        await pay(payments, session);
        await untilStatus(payments, session, 'success');
        await watching;

        const [file, passphrase] = [join(directory, 'hub.age'), join(directory, 'passphrase')];
        await writeFile(passphrase, 'correct horse battery staple\n', { mode: 0o600 });
        const through = {
          HUB_DATABASE_POOLER: 'transaction',
          ...(direct !== undefined && { HUB_DATABASE_DIRECT_URL: direct }),
        };
        const from = { ...through, DATABASE_URL: bouncer.url, HUB_DATA_DIR: payments.hub.dataDir };
        const created = await hubctlHere(
          ['backup', 'create', '--out', file, '--passphrase-file', passphrase],
          from,
        );
        expect({ code: created.code, stderr: created.stderr }).to.deep.equal({ code: 0, stderr: '' });
        await payments.stop();

        const target = await createDatabase();
        const other = await startPgBouncer(target);
        const dataDir = join(directory, 'restored');
        const restored = await hubctlHere(['backup', 'restore', file, '--passphrase-file', passphrase], {
          HUB_DATABASE_POOLER: 'transaction',
          ...(direct !== undefined && { HUB_DATABASE_DIRECT_URL: target }),
          DATABASE_URL: other.url,
          HUB_DATA_DIR: dataDir,
        });
        expect(restored.code, restored.stderr).to.equal(0);
        const hub = await startHub({
          settings: { databasePooler: 'transaction' },
          beside: { dataDir, databaseUrl: other.url },
        });
        expect((await activate(hub.gatewayUrl, licenseKey, 'machine-1')).status).to.equal(200);
        expect((await createClient(AuditService, hub.transport).verifyAuditLog({})).ok).to.equal(true);
        await hub.stop();
        await other.stop();
        await discard(directory);
      });
    }
  });
});
