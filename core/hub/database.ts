// Opens the database of a hub: with the tables of every module, migrated, and with the master keys it was
// sealed with.
import type { Logger } from 'pino';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import type { createTasks } from '../../lib/metrics/tasks.ts';
import { accessEntities } from '../access/entities.ts';
import { HUB } from '../audit/record.ts';
import type { Clock } from '../clock.ts';
import { customerEntities } from '../customer/entities.ts';
import { eventEntities } from '../event/entities.ts';
import { idempotencyEntities } from '../idempotency/entities.ts';
import { licenseEntities } from '../license/entities.ts';
import { mailEntities } from '../mail/entities.ts';
import { orderEntities } from '../order/entities.ts';
import { paymentEntities } from '../payment/entities.ts';
import { migrateSchema } from '../prepare-schema.ts';
import { type DatabaseAddress, directAddress } from '../storage/connection/database-address.ts';
import type { DataDir } from '../storage/data-dir.ts';
import { type Database, identityOf, openDatabase } from '../storage/database.ts';
import { connectionCount } from '../storage/embedded-postgres/connection-count.ts';
import { ownPostgres } from '../storage/embedded-postgres/supervise.ts';
import { storageEntities } from '../storage/schema/entities.ts';
import { requireKnownSchema } from '../storage/schema/newer-schema.ts';
import { keepPartitions } from '../storage/schema/partitions.ts';
import type { MasterKey } from '../storage/secrets/key-ring-file.ts';
import { claimDatabase } from '../storage/secrets/load-key-ring.ts';
import { startSharedClock } from '../storage/shared-clock.ts';
import type { HubConfig } from './config.ts';

export type OpenedDatabase = {
  readonly db: Database;
  readonly address: DatabaseAddress;
  readonly clock: Clock;
};

export type WireDatabaseOptions = {
  readonly config: HubConfig;
  readonly dataDir: DataDir;
  readonly keys: MasterKey[];
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tasks: ReturnType<typeof createTasks>;
  /** Replaces the clock of the database and of the machine. */
  readonly givenClock: Clock | undefined;
  readonly onFatal: (error: Error) => void;
  readonly undo: AsyncDisposableStack;
};

/** Starts or connects to PostgreSQL, migrates the schema, and begins to keep partitions. */
export async function wireDatabase(options: WireDatabaseOptions): Promise<OpenedDatabase> {
  const { config, keys, logger, metrics, tasks, givenClock, undo } = options;
  const address = await findAddress(options);
  const db = await openHubDatabase(address, config.poolSize, logger);
  undo.defer(() => db.close());
  await requireKnownSchema(db, config.version);

  const time = givenClock
    ? { now: givenClock, aheadMs: () => undefined, stop() {} }
    : await startSharedClock({ pool: db.pool, logger });
  undo.defer(() => time.stop());
  const clock = time.now;
  metrics.gauge(
    {
      name: 'hub_clock_ahead_seconds',
      help: "How far this machine's clock is ahead of the database's clock, which the hub uses.",
      aggregator: 'max',
    },
    () => secondsOf(time.aheadMs()),
  );

  if (config.preparesDatabase) await migrate({ address, db, clock, logger });
  await claimDatabase(db.pool, keys, clock);
  if (config.preparesDatabase) {
    const task = tasks.of('partitions');
    const partitions = await keepPartitions({ pool: db.pool, clock, logger, task });
    undo.defer(() => partitions.stop());
  }
  return { db, address, clock };
}

/** Opens a database with the tables of every module. */
export function openHubDatabase(
  address: DatabaseAddress,
  poolSize: number,
  logger: Logger,
): Promise<Database> {
  return openDatabase({
    ...address,
    poolSize,
    entities: [
      ...storageEntities,
      ...accessEntities,
      ...customerEntities,
      ...eventEntities,
      ...idempotencyEntities,
      ...licenseEntities,
      ...paymentEntities,
      ...orderEntities,
      ...mailEntities,
    ],
    log: (message) => logger.debug(message),
  });
}

export function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}

async function findAddress(options: WireDatabaseOptions): Promise<DatabaseAddress> {
  const { config, dataDir, logger, onFatal, undo } = options;
  let url = config.databaseUrl?.reveal();
  if (url === undefined) {
    const postgres = await ownPostgres({
      dataDir,
      maxConnections: connectionCount(1, config.poolSize),
      log: (line) => logger.info(line),
      onLost: onFatal,
    });
    undo.defer(() => postgres.stop());
    url = postgres.url;
  }
  return {
    url,
    schema: config.databaseSchema,
    pooler: config.databasePooler,
    directUrl: config.databaseDirectUrl?.reveal(),
  };
}

type MigrateOptions = OpenedDatabase & { readonly logger: Logger };

async function migrate({ address, db, clock, logger }: MigrateOptions): Promise<void> {
  const applied = await withDirectDatabase(
    address,
    db,
    (direct) => migrateSchema({ db: direct, actor: HUB, clock }),
    logger,
  );
  if (applied.length > 0) logger.info({ applied }, 'schema migrated');
}

/**
 * Bypasses the pooler if there is a direct address: a migration may take longer than a pooler lets a
 * statement take.
 */
async function withDirectDatabase<T>(
  address: DatabaseAddress,
  db: Database,
  work: (db: Database) => Promise<T>,
  logger: Logger,
): Promise<T> {
  const { directUrl } = address;
  if (directUrl === undefined) return work(db);
  const direct = await openHubDatabase({ ...directAddress(address), schema: db.schema }, 2, logger);
  try {
    if ((await identityOf(db.pool)) !== (await identityOf(direct.pool)))
      throw new Error('HUB_DATABASE_DIRECT_URL leads to another database than DATABASE_URL');
    return await work(direct);
  } finally {
    await direct.close();
  }
}
