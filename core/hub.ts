// Starts and stops the core: database, modules, RPC port.
import type { Transport } from '@connectrpc/connect';
import { collectAll } from '../lib/metrics/metrics.ts';
import { createTasks } from '../lib/metrics/tasks.ts';
import { shareRead } from '../lib/net/share-read.ts';
import type { HubConfig, HubParts } from './hub/config.ts';
import { wireDatabase } from './hub/database.ts';
import { wireModules } from './hub/modules.ts';
import { wireRpcPort } from './hub/rpc-port.ts';
import { listen, urlOf } from './rpc/server/listener.ts';
import { openTls } from './rpc/server/tls.ts';
import { Secret } from './secret.ts';
import { type DataDir, openDataDir } from './storage/data-dir.ts';
import { loadKeyRing } from './storage/secrets/load-key-ring.ts';

export type Hub = {
  /** Calls the services in this process, as the gateway does. */
  readonly transport: Transport;
  readonly rpcUrl: string;
  /** The address of the database, also of an embedded one. */
  readonly databaseUrl: Secret<string>;
  /** An admin token, also in the data directory. */
  readonly adminToken: Secret<string>;
  readonly dataDir: DataDir;
  /** Reads the certificates again, if there are any. */
  reload(): Promise<void>;
  /** Waits at most `graceMs` for running RPCs, then closes everything. */
  stop(graceMs: number): Promise<void>;
};

/** @throws Error that says what is wrong with the configuration or the database */
export async function startHub(config: HubConfig, parts: HubParts): Promise<Hub> {
  const { logger, metrics, gather, clock: givenClock, attemptLimiter } = parts;
  const { console: readConsole = async () => undefined, onFatal = () => {} } = parts;
  const { readiness = { state: 'serving', onDrain() {} } } = parts;
  const tasks = createTasks(metrics);
  // Some metrics are read from the database: concurrent requests share one collection.
  const collect = shareRead(() => collectAll(metrics, gather), 0);
  const ending = new AbortController();
  await using undo = new AsyncDisposableStack();

  const dataDir = await openDataDir(config.dataDir);
  const tls = config.rpcTls && (await openTls(config.rpcTls, logger));
  undo.defer(async () => tls?.close());
  const { keys, createdFile } = await loadKeyRing(config.masterKey, dataDir);
  if (createdFile) {
    logger.warn(
      `created a master key in ${createdFile}: back it up, the hub cannot decrypt its data without it`,
    );
  }
  const shared = { config, dataDir, keys, logger, metrics, tasks, givenClock, undo };
  const database = await wireDatabase({ ...shared, onFatal });
  const { adminToken, ...modules } = await wireModules({
    ...shared,
    ...database,
    collect,
    ending: ending.signal,
  });
  const { listener, transport } = wireRpcPort({
    ...shared,
    ...database,
    ...modules,
    tls,
    collect,
    attemptLimiter,
    readConsole,
    readiness,
  });
  await listen(listener.server, config.rpcPort, config.host, '--rpc-port or HUB_RPC_PORT');
  const resources = undo.move();
  return {
    transport,
    rpcUrl: urlOf(listener.server, tls ? 'https' : 'http'),
    databaseUrl: new Secret(database.address.url),
    adminToken: new Secret(adminToken),
    dataDir,
    reload: async () => tls?.reload(),
    async stop(graceMs) {
      await using steps = new AsyncDisposableStack();
      const graceOver = setTimeout(() => ending.abort(), graceMs);
      steps.defer(() => clearTimeout(graceOver));
      steps.use(resources);
      steps.defer(() => listener.close(graceMs));
    },
  };
}
