// A hub in its own process; measures the effect of an attack on its memory and on other callers.
import { once } from 'node:events';
import * as http2 from 'node:http2';
import { setTimeout } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { openDataDir } from '../../core/storage/data-dir.ts';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { discard, makeDataDir } from '../support/hub/data-dir.ts';
import { transportTo } from '../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../support/hub/hub-process.ts';
import { createMigratedDatabase } from '../support/postgres/databases.ts';
import { residentKb } from '../support/resident-memory.ts';

export type Damage = {
  /** Resident megabytes at the worst moment, beyond those before the attack. 0 where /proc does not tell. */
  readonly grownMb: number;
  /** The longest that another caller waited for a response meanwhile. */
  readonly longestWaitMs: number;
};

export type AttackedHub = {
  readonly hub: HubProcess;
  /** Of the role monitor, which may do the least. */
  readonly token: string;
  /** An HTTP/2 connection, which `stop` closes. */
  connect(): Promise<http2.ClientHttp2Session>;
  /** Runs the attack and watches the hub while it lasts, and for a moment longer. */
  during(attack: () => Promise<unknown>): Promise<Damage>;
  stop(): Promise<void>;
};

/** More than attacks send: the client must not be the one that gives up. */
const CLIENT_MEGABYTES = 4_000;
/** V8 collects garbage late: with a small heap, the measurement shows the live memory. */
const TIDY = { NODE_OPTIONS: '--max-semi-space-size=1' };
const LOOK_EVERY_MS = 20;
const LINGER_MS = 500;

export async function startAttackedHub(environment: Record<string, string> = {}): Promise<AttackedHub> {
  await using undo = new AsyncDisposableStack();
  const dataDir = await makeDataDir();
  undo.defer(() => discard(dataDir));
  const databaseUrl = await createMigratedDatabase();
  const hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ...TIDY, ...environment });
  undo.defer(async () => void (await hub.stop()));
  const adminToken = (await (await openDataDir(dataDir)).readAdminToken()) ?? '';
  const tokens = createClient(TokenService, transportTo(hub.rpcUrl, adminToken));
  const { token } = await tokens.createToken({ role: Role.MONITOR });
  const sessions: http2.ClientHttp2Session[] = [];
  undo.defer(async () => {
    for (const session of sessions) session.destroy();
  });
  const resources = undo.move();

  const ask = async (): Promise<number> => {
    const askedAt = performance.now();
    await (await fetch(`${hub.gatewayUrl}/healthz`)).text();
    return performance.now() - askedAt;
  };
  return {
    hub,
    token,
    async connect() {
      const session = http2.connect(hub.rpcUrl, { maxSessionMemory: CLIENT_MEGABYTES });
      sessions.push(session);
      session.on('error', () => {}); // a hub may cut it
      await once(session, 'connect');
      return session;
    },
    async during(attack) {
      await ask();
      const before = await residentKb(hub.child.pid);
      let peak = before;
      let longestWaitMs = 0;
      let isOver = false;
      const watch = async (): Promise<void> => {
        while (!isOver) {
          longestWaitMs = Math.max(longestWaitMs, await ask());
          peak = Math.max(peak, await residentKb(hub.child.pid));
          await setTimeout(LOOK_EVERY_MS);
        }
      };
      const watching = watch();
      try {
        await attack();
        await setTimeout(LINGER_MS);
      } finally {
        isOver = true;
        await watching;
      }
      return { grownMb: Math.round((peak - before) / 1024), longestWaitMs: Math.round(longestWaitMs) };
    },
    stop: () => resources.disposeAsync(),
  };
}
