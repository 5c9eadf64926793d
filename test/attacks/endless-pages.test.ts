// A hub, or a proxy before it, with endless page tokens: no command may follow them forever.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { expect } from 'chai';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { ChargeStatus } from '../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { runHere } from '../cli/run-here.ts';

const COMMANDS = [
  'app list',
  'license list',
  'seat list lic_01k8e7qk3vf2tb5s0w9m4x6ydz',
  'session list',
  'session list --watch --max 5000',
  'callback list',
  'usage list',
  'usage export',
  'usage export --format jsonl',
  'audit list',
  'token list',
];

describe('attack: endless pages', () => {
  let server: Server;
  let hub: { rpcUrl: string; token: string };
  let calls = 0;
  /** What the fake hub answers, whatever the list. */
  let answer: () => { nextPageToken: string; full: boolean };
  before(async () => {
    const token = { tokenId: 'tok_1', name: 'one', role: Role.VIEWER, createdAt: at };
    const session = {
      sessionId: 'chs_1',
      slot: 'main',
      createdAt: at,
      statusChangedAt: at,
      status: ChargeStatus.PENDING,
      amount,
    };
    const page = <T>(items: (full: boolean) => T) => {
      if (++calls > 20) throw new Error('it is asked on and on');
      const { nextPageToken, full } = answer();
      return { ...items(full), nextPageToken };
    };
    const some = <T>(full: boolean, item: T): T[] => (full ? [item] : []);
    const adapter = connectNodeAdapter({
      routes: ({ service }) => {
        service(LicenseAdminService, {
          listApps: () =>
            page((full) => ({ apps: some(full, { slug: 'demo', createdAt: at, defaultTerms: {} }) })),
          listLicenses: () =>
            page((full) => ({
              licenses: some(full, {
                licenseId: 'lic_1',
                state: 1,
                seats: { limit: 1, used: 0 },
                createdAt: at,
              }),
            })),
          listSeats: () =>
            page((full) => ({ seats: some(full, { seatId: 'seat_1', activatedAt: at, lastSeenAt: at }) })),
        });
        service(PaymentService, {
          listChargeSessions: () => page((full) => ({ sessions: some(full, session) })),
        });
        service(PaymentAdminService, {
          listCallbacks: () =>
            page((full) => ({ callbacks: some(full, { callbackId: 'cb_1', state: 1, receivedAt: at }) })),
          listUsageLogs: () =>
            page((full) => ({
              usageLogs: some(full, { usageLogId: 'use_1', amount, feeTotal: amount, settledAt: at }),
            })),
        });
        service(AuditService, {
          listAuditEntries: () => page((full) => ({ entries: some(full, { auditEntryId: 'aud_1', at }) })),
        });
        service(TokenService, {
          listTokens: () => page((full) => ({ serviceTokens: some(full, token) })),
        });
      },
    });
    server = createServer(adapter).listen(0, '127.0.0.1');
    await once(server, 'listening');
    hub = { rpcUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, token: 'hub_1' };
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    calls = 0;
  });

  for (const command of COMMANDS) {
    it(`end \`${command}\` with an error if the hub repeats its page token`, async () => {
      answer = () => ({ nextPageToken: 'again', full: true });
      await fails(command, 'same page token twice');
      expect(calls).to.equal(2);
    });

    it(`end \`${command}\` with an error if empty pages have a page token`, async () => {
      answer = () => ({ nextPageToken: `page-${calls}`, full: false });
      await fails(command, 'empty page');
      expect(calls).to.equal(1);
    });
  }

  async function fails(command: string, words: string): Promise<void> {
    const { code, stderr } = await runHere([...command.split(' '), '--output', 'json'], hub);
    expect(stderr).to.include(words);
    expect(JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error.code).to.equal('pages_endless');
    expect(code).to.equal(1);
  }
});

const at = { seconds: 1_772_360_430n, nanos: 0 };
const amount = { minorUnits: 100n, currency: 'BDT' };
