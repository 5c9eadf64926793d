// An interrupted export or backup reports the contents of its file, and leaves nothing half-written.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { expect } from 'chai';
import pg from 'pg';
import { AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { UsageLogKind } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { startHub } from '../../support/hub/hub.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { ended, start } from '../spawn-hubctl.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

describe('hubctl stopped while it writes a file', () => {
  let dir: string;
  /** A hub that answers one page, and never another. */
  let server: Server;
  let calls: number;
  const silence = new AbortController();

  before(async () => {
    const never = () => new Promise<never>((_, reject) => silence.signal.addEventListener('abort', reject));
    const at = { seconds: 1_772_360_430n };
    const amount = { minorUnits: 100n, currency: 'BDT' };
    const usageLog = {
      usageLogId: 'use_1',
      sessionId: 'chs_1',
      amount,
      feeTotal: amount,
      settledAt: at,
      kind: UsageLogKind.PAYMENT,
    };
    const entry = { seq: 1n, linkedAt: at, entry: { auditEntryId: 'aud_1', at } };
    const handler = connectNodeAdapter({
      routes({ service }) {
        service(AuditService, {
          async *exportAuditLog() {
            yield { entries: [entry] };
            calls++;
            await never();
          },
        });
        service(PaymentAdminService, {
          listUsageLogs({ pageToken }) {
            calls++;
            return pageToken === '' ? { usageLogs: [usageLog], nextPageToken: 'more' } : never();
          },
        });
      },
    });
    server = createServer(handler).listen(0, '127.0.0.1');
    await once(server, 'listening');
    dir = await mkdtemp(join(tmpdir(), 'hubctl-stopped-'));
  });
  after(async () => {
    silence.abort();
    server.closeAllConnections();
    server.close();
    await rm(dir, { recursive: true });
  });
  beforeEach(() => {
    calls = 0;
  });

  const env = () => ({
    HUBCTL_SERVER: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // it listens on TCP
    HUBCTL_TOKEN: 'token',
  });

  for (const signal of SIGNALS) {
    it(`by ${signal} reports how many entries of an export are in the file`, async () => {
      const file = join(dir, `${signal}.jsonl`);
      const child = start(['audit', 'export', '--out', file], env());
      const end = ended(child);
      const written = () => readFile(file, 'utf8').catch(() => '');
      await until(async () => calls === 1 && (await written()).includes('\n'), 'the first entry is shown');
      child.kill(signal);
      const { code, stderr } = await end;
      expect({ code, stderr }).to.deep.equal({
        code: 128 + constants.signals[signal],
        stderr: `hubctl: Interrupted by ${signal}. ${file} has the first 1 entries only.\n`,
      });
      expect((await written()).trimEnd().split('\n')).to.have.length(1);
    });
  }

  it('by a full disk exits at once, though the hub keeps the stream open', async function () {
    if (!existsSync('/dev/full')) return this.skip();
    const { code, stderr } = await ended(start(['audit', 'export', '--out', '/dev/full', '--force'], env()));
    expect({ code, calls }, stderr).to.deep.equal({ code: 1, calls: 1 });
    expect(stderr).to.contain('ENOSPC');
  });

  it('by SIGTERM exits at once, though a response is outstanding', async () => {
    const file = join(dir, 'usage.csv');
    const child = start(['usage', 'export', '--out', file], env());
    const end = ended(child);
    await until(() => calls === 2, 'the second page is requested');
    child.kill('SIGTERM');
    const { code, stderr } = await end;
    expect({ code, stderr }).to.deep.equal({
      code: 143,
      stderr: `hubctl: Interrupted by SIGTERM. ${file} has the first 1 entries only.\n`,
    });
  });

  it('by SIGTERM during a backup keeps the existing file, and no partial one', async () => {
    const hub = await startHub();
    const out = join(dir, 'hub.age');
    const passphrase = join(dir, 'passphrase');
    await writeFile(out, 'precious');
    await writeFile(passphrase, 'correct horse battery staple\n', { mode: 0o600 });
    const holder = new pg.Client({ connectionString: hub.databaseUrl });
    try {
      await holder.connect();
      await holder.query('begin; lock table license in access exclusive mode');
      const waits = `select from pg_stat_activity where datname = current_database()
                     and application_name = 'hubctl backup' and wait_event_type = 'Lock'`;
      const args = ['backup', 'create', '--force', '--passphrase-file', passphrase, '--out', out];
      const child = start(args, { DATABASE_URL: hub.databaseUrl, HUB_DATA_DIR: hub.dataDir });
      const end = ended(child);
      await until(async () => (await query(hub.databaseUrl, waits)).length > 0, 'the backup waits', 30_000);
      child.kill('SIGTERM');
      const { code, stderr } = await end;
      expect({ code, stderr }).to.deep.equal({
        code: 143,
        stderr: `hubctl: Interrupted by SIGTERM. Nothing was written to ${out}.\n`,
      });
      expect(await readFile(out, 'utf8')).to.equal('precious');
      expect((await readdir(dir)).filter((name) => name.endsWith('.part'))).to.deep.equal([]);
    } finally {
      await holder.end();
      await hub.stop();
    }
  });
});
