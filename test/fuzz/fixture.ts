// The target of the fuzz run: a hub in its own process with the provider simulator, and the hub's secrets.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Transport } from '@connectrpc/connect';
import pg from 'pg';
import { type Simulator, startSimulator } from '../../cli/simulator/simulator.ts';
import { registerServiceToken } from '../../core/access/register-token.ts';
import { newServiceToken } from '../../core/access/token-format.ts';
import { openDataDir } from '../../core/storage/data-dir.ts';
import { type Canaries, createCanaries } from '../support/hub/canaries.ts';
import { discard, makeDataDir } from '../support/hub/data-dir.ts';
import { transportTo } from '../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../support/hub/hub-process.ts';
import { createMigratedDatabase } from '../support/postgres/databases.ts';

export type Fixture = {
  readonly hub: HubProcess;
  readonly simulator: Simulator;
  readonly databaseUrl: string;
  /** The RPC port, with the admin token of the data directory. */
  readonly transport: Transport;
  /** Secrets that must not appear in a response or in the log. */
  readonly secrets: Canaries;
  readonly tokens: { readonly admin: string; readonly others: readonly string[] };
  stop(): Promise<void>;
};

const STAY = fileURLToPath(new URL('stay-on-this-machine.ts', import.meta.url));

export async function startFixture(): Promise<Fixture> {
  await using undo = new AsyncDisposableStack();
  const dataDir = await makeDataDir();
  undo.defer(() => discard(dataDir));
  const databaseUrl = await createMigratedDatabase();
  const simulator = await startSimulator({ port: 0, grantsPerHour: 1_000_000 });
  undo.defer(() => simulator.close());
  const hub = await spawnHub({
    HUB_DATA_DIR: dataDir,
    DATABASE_URL: databaseUrl,
    HUB_CALLBACK_BUDGET_MS: '500',
    HUB_PROVIDER_TIMEOUT_MS: '1000',
    HUB_RETRY_DELAY_SECONDS: '1',
    HUB_SWEEP_AFTER_SECONDS: '5,60',
    NODE_OPTIONS: `--import=${STAY}`,
  });
  undo.defer(async () => void (await hub.stop()));
  const localToken = (await (await openDataDir(dataDir)).readAdminToken()) ?? '';
  const tokens = await makeTokens(databaseUrl);
  const secrets = createCanaries();
  const [masterKey = ''] = (await readFile(join(dataDir, 'master.key'), 'utf8')).trim().split('\n').slice(-1);
  for (const secret of [masterKey, localToken, tokens.admin, ...tokens.others]) secrets.add(secret);
  for (const credentials of Object.values(simulator.credentials)) {
    // Short values and account names may appear in other texts.
    for (const secret of Object.values<string>(credentials)) if (secret.length >= 20) secrets.add(secret);
  }
  const resources = undo.move();
  return {
    hub,
    simulator,
    databaseUrl,
    transport: transportTo(hub.rpcUrl, localToken),
    secrets,
    tokens,
    stop: () => resources.disposeAsync(),
  };
}

/** Creates one token per role. */
async function makeTokens(databaseUrl: string): Promise<Fixture['tokens']> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  const make = async (role: 'admin' | 'operator' | 'service' | 'viewer' | 'monitor'): Promise<string> => {
    const token = newServiceToken();
    await registerServiceToken(pool, () => new Date(), token, { name: `fuzz ${role}`, role });
    return token;
  };
  try {
    return {
      admin: await make('admin'),
      others: [await make('operator'), await make('service'), await make('viewer'), await make('monitor')],
    };
  } finally {
    await pool.end();
  }
}
