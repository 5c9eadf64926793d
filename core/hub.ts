// The only place where the hub is wired together: configuration in, a started hub out.
import { promisify } from 'node:util';
import { create } from '@bufbuild/protobuf';
import type { Transport } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { Health } from '../gen/grpc/health/v1/health_pb.ts';
import { AccessService } from '../gen/hub/access/v1/access_service_pb.ts';
import { TokenService } from '../gen/hub/access/v1/token_service_pb.ts';
import { MetricsService } from '../gen/hub/metrics/v1/metrics_service_pb.ts';
import { RetentionService } from '../gen/hub/retention/v1/retention_service_pb.ts';
import { collectAll, type Gather, type Metrics } from '../metrics/metrics.ts';
import { createTasks } from '../metrics/tasks.ts';
import type { Availability } from '../ports/availability.ts';
import { createConnectionCap } from '../ports/connection-cap.ts';
import { createLimitRefusals } from '../ports/limit-refusals.ts';
import { shareLooks } from '../ports/share-looks.ts';
import { traceServed } from '../tracing/rpc-interceptors.ts';
import { createAccessService } from './access/access-service.ts';
import { createAdmitScraper } from './access/admit-scraper.ts';
import { HUB } from './access/audit.ts';
import { createAuditRoom } from './access/audit-room.ts';
import { createAuthenticate } from './access/authenticate.ts';
import { createAuthenticateGate, createAuthorize, createAuthorizeInterceptor } from './access/authorize.ts';
import { accessEntities } from './access/entities.ts';
import { type AttemptLimiter, createFailedAttempts } from './access/failed-attempts.ts';
import { createFindCaller } from './access/find-caller.ts';
import { openHeadFile } from './access/head-file.ts';
import { createLastUsed } from './access/last-used.ts';
import { ensureLocalToken } from './access/local-token.ts';
import { createCheckScope } from './access/scope.ts';
import { createTokenService } from './access/token-service.ts';
import { createTokens } from './access/tokens.ts';
import { type Clock, systemClock } from './clock.ts';
import { licenseEntities } from './license/entities.ts';
import { createLicenseRoom } from './license/room.ts';
import { paymentEntities } from './payment/entities.ts';
import { createPaymentRoom, type PaymentConfig } from './payment/room.ts';
import { createPrune } from './retention/prune.ts';
import { createRetentionService } from './retention/retention-service.ts';
import { type ConsoleOptions, type ReadConsoleFile, serveConsole } from './rpc/console.ts';
import { createDirectTransport } from './rpc/direct-transport.ts';
import { createErrorInterceptor } from './rpc/errors.ts';
import { createHealthService } from './rpc/health.ts';
import { createInFlightLimit } from './rpc/in-flight.ts';
import { listen, urlOf } from './rpc/listener.ts';
import { createMetricsEndpoint, withMetrics } from './rpc/metrics-endpoint.ts';
import { createMetricsService } from './rpc/metrics-service.ts';
import { createPageTokenInterceptor, createPageTokens } from './rpc/page-tokens.ts';
import { createReflectionServices } from './rpc/reflection.ts';
import { createRequestLog } from './rpc/request-log.ts';
import { createRpcMeter } from './rpc/rpc-meter.ts';
import { createRpcListener } from './rpc/server.ts';
import { openTls, type TlsFiles } from './rpc/tls.ts';
import { createValidationInterceptor } from './rpc/validation.ts';
import { bringUpToDate } from './schema.ts';
import { Secret } from './secret.ts';
import { type ServiceEntry, serve } from './service-entry.ts';
import { type DataDir, openDataDir } from './storage/data-dir.ts';
import { type Database, identityOf, openDatabase, takesWrites } from './storage/database.ts';
import { type DatabaseAddress, directAddress } from './storage/database-address.ts';
import { measureDatabase } from './storage/database-figures.ts';
import { storageEntities } from './storage/entities.ts';
import { claimDatabase, loadKeyRing, type MasterKeySource } from './storage/key-ring.ts';
import { createSchemaWatch, requireKnownSchema } from './storage/newer-schema.ts';
import { ownPostgres } from './storage/owned-postgres.ts';
import { partitionFigures } from './storage/partition-figures.ts';
import { keepPartitions } from './storage/partitions.ts';
import { createSealer } from './storage/sealing.ts';
import { startSharedClock } from './storage/shared-clock.ts';

export type HubConfig = {
  /** What the hub says it is. */
  readonly version: string;
  /** Undefined: the embedded PostgreSQL in the data directory. */
  readonly databaseUrl: Secret<string> | undefined;
  /** Undefined: the first schema of the role's search path. */
  readonly databaseSchema?: string | undefined;
  readonly databasePooler?: DatabaseAddress['pooler'];
  /** Past the pooler. */
  readonly databaseDirectUrl?: Secret<string> | undefined;
  readonly dataDir: string;
  /** Address the RPC port binds. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly rpcPort: number;
  /** Certificates of the RPC port. Undefined: plaintext. */
  readonly rpcTls?: TlsFiles | undefined;
  readonly masterKey: MasterKeySource;
  /** Where this hub notes the head of the audit chain; by default in the data directory. */
  readonly auditHeadFile?: string | undefined;
  /** Most database connections of this process. */
  readonly poolSize: number;
  /** Whether it brings the schema up to date and makes partitions: where processes start together, one does for all. */
  readonly preparesDatabase: boolean;
  /** Calls the RPC port works on at the same time. */
  readonly maxInFlight: number;
  /** Connections the RPC port takes from one address; 0: any number. */
  readonly connectionsPerClient: number;
  readonly payment: PaymentConfig;
};

export type HubParts = {
  readonly logger: Logger;
  /** Where it counts; there is one for each process. */
  readonly metrics: Metrics;
  /** If other processes serve the same ports. */
  readonly gather?: Gather | undefined;
  /** In place of the database's. */
  readonly clock?: Clock;
  /** Counts attempts with wrong tokens; without it they are not limited. */
  readonly attemptLimiter?: AttemptLimiter;
  /** The files of the console; without them there is none. */
  readonly console?: ReadConsoleFile;
  /** Told when the hub cannot go on; its owner has to stop it. */
  readonly onFatal?: (error: Error) => void;
  /** Whether the process wants requests. Default: as long as it runs. */
  readonly availability?: Pick<Availability, 'state' | 'onDrain'>;
};

export type Hub = {
  /** Calls the services in this process, as the gateway does. */
  readonly transport: Transport;
  readonly rpcUrl: string;
  /** An admin token, also in the data directory. */
  readonly adminToken: Secret<string>;
  readonly dataDir: DataDir;
  /** Reads the certificates again, if there are any. */
  reload(): Promise<void>;
  /** Lets RPCs under way finish for at most `graceMs`, then closes everything. */
  stop(graceMs: number): Promise<void>;
};

/** As long as a gateway in another process waits. A database that answers nothing must not hold clients up for longer. */
const CALL_TIMEOUT_MS = 10_000;

/** What was found out about the database is good for so long. */
const READY_MS = 500;
/** So often a hub that is asked for its health looks whether a newer one has migrated the schema. */
const SCHEMA_WATCH_MS = 2_000;

/** Starts the core: database, migrations, services, RPC port. Throws an Error that says what is wrong. */
export async function startHub(
  config: HubConfig,
  {
    logger,
    metrics,
    gather,
    clock: givenClock,
    attemptLimiter,
    console: readConsole = async () => undefined,
    onFatal = () => {},
    availability = { state: 'serving', onDrain() {} },
  }: HubParts,
): Promise<Hub> {
  const tasks = createTasks(metrics);
  // Some figures are read from the database: however many ask at the same time, they share one reading.
  const collect = shareLooks(() => collectAll(metrics, gather), 0);
  await using undo = new AsyncDisposableStack();
  const dataDir = await openDataDir(config.dataDir);
  const tls = config.rpcTls && (await openTls(config.rpcTls, logger));
  undo.defer(async () => tls?.close());
  const { keys, createdFile } = await loadKeyRing(config.masterKey, dataDir);
  if (createdFile) {
    logger.warn(`made a master key in ${createdFile}: back it up, nothing sealed can be read without it`);
  }
  let databaseUrl = config.databaseUrl?.reveal();
  if (databaseUrl === undefined) {
    const postgres = await ownPostgres({ dataDir, log: (line) => logger.info(line), onLost: onFatal });
    undo.defer(() => postgres.stop());
    databaseUrl = postgres.url;
  }
  const address: DatabaseAddress = {
    url: databaseUrl,
    schema: config.databaseSchema,
    pooler: config.databasePooler,
    directUrl: config.databaseDirectUrl?.reveal(),
  };
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
      help: "By how much this machine's clock is ahead of the database's, which the hub goes by.",
      together: 'max',
    },
    () => secondsOf(time.aheadMs()),
  );
  const applied = config.preparesDatabase
    ? await withDirectDatabase(
        address,
        db,
        (direct) => bringUpToDate({ db: direct, actor: HUB, clock }),
        logger,
      )
    : [];
  if (applied.length > 0) logger.info({ applied }, 'schema brought up to date');
  await claimDatabase(db.pool, keys, clock);
  if (config.preparesDatabase) {
    const partitions = await keepPartitions({
      pool: db.pool,
      clock,
      logger,
      task: tasks.of('partitions'),
    });
    undo.defer(() => partitions.stop());
  }
  const sealer = createSealer(keys);
  const audit = await createAuditRoom({
    db,
    sealer,
    headFile: openHeadFile(config.auditHeadFile ?? dataDir.auditHeadFile),
    clock,
    logger,
    metrics,
    task: tasks.of('audit_chain'),
  });
  undo.defer(() => audit.close());
  // A token that is new to the database may be recorded: not before the chain has begun.
  const adminToken = await ensureLocalToken(db.pool, dataDir, clock);
  const licenses = createLicenseRoom({ db, sealer, clock, logger, metrics });
  undo.defer(() => licenses.close());
  const otherSecrets = [...licenses.secrets, ...audit.secrets];
  const ending = new AbortController();
  const payments = await createPaymentRoom({
    config: config.payment,
    db,
    address,
    sealer,
    otherSecrets,
    clock,
    logger,
    metrics,
    tasks,
    ending: ending.signal,
  });
  undo.defer(() => payments.close());
  measureDatabase({
    pool: db.pool,
    poolSize: config.poolSize,
    metrics,
    figures: [licenses.figures, payments.figures, audit.figures, partitionFigures(clock)],
  });
  const findOwner = { ...licenses.findApp, ...payments.findSlot };
  const lastUsed = createLastUsed({
    pool: db.pool,
    onError: (err) => logger.warn({ err }, 'the last use of a token was not written'),
  });
  undo.defer(() => lastUsed.close());
  const guards = [payments.pruneGuard, audit.pruneGuard];
  const services = [
    ...licenses.services,
    ...payments.services,
    ...audit.services,
    serve(AccessService, createAccessService(config.version, givenClock ?? systemClock)),
    serve(RetentionService, createRetentionService(createPrune({ pool: db.pool, clock, guards }))),
    serve(MetricsService, createMetricsService(collect)),
    serve(TokenService, createTokenService(createTokens({ db, clock, findOwner }))),
  ];
  // Health needs no token: however many ask, and watch, the database is asked twice a second at most.
  const answers = shareLooks(() => takesWrites(db.pool).catch(() => false), READY_MS);
  const fits = shareLooks(
    createSchemaWatch({ pool: db.pool, hubVersion: config.version, logger }),
    SCHEMA_WATCH_MS,
  );
  const isReady = async () => availability.state === 'serving' && (await answers()) && (await fits());
  const all = withStandardServices(services, isReady);
  const refusals = createLimitRefusals(metrics);
  const authenticate = createAuthenticate({
    findCaller: createFindCaller({ pool: db.pool, clock, lastUsed }),
    clock,
    failedAttempts:
      attemptLimiter &&
      createFailedAttempts({
        limiter: attemptLimiter,
        onError: (err) => logger.warn({ err }, 'failed attempts are not counted'),
        onRefusal: () => refusals('tokens').add(),
      }),
  });
  const checkScope = createCheckScope(findOwner);
  const interceptors = [
    createErrorInterceptor(logger),
    createAuthorizeInterceptor(authenticate, checkScope),
    createValidationInterceptor(),
    createPageTokenInterceptor(createPageTokens(keys)),
  ];

  const requestLog = createRequestLog(logger, createRpcMeter(metrics));
  const { readMetrics } = MetricsService.method;
  const authorize = createAuthorize(authenticate);
  const admit = createAdmitScraper(async (header, values) => {
    const caller = await authorize(readMetrics, () => header, values);
    if (caller !== undefined) await checkScope(caller, readMetrics, create(readMetrics.input));
  });
  const endpoint = createMetricsEndpoint({ collect, admit, logger });
  const consoleOptions: ConsoleOptions = {
    read: readConsole,
    onFailure: (err) => logger.error({ err }, 'the console cannot be served'),
  };
  const admitConnection = createConnectionCap({ perClient: config.connectionsPerClient, logger });
  const listener = createRpcListener({
    services: all,
    interceptors: [
      traceServed,
      requestLog.interceptor,
      ...interceptors,
      createInFlightLimit(config.maxInFlight, metrics),
    ],
    gate: createAuthenticateGate(authenticate),
    isReady,
    wrap: (handler) => requestLog.wrap(serveConsole(consoleOptions, withMetrics(handler, endpoint))),
    onFailure: (err) => logger.error({ err }, 'an RPC broke down'),
    tls,
    admit(socket) {
      const beyond = admitConnection(socket);
      if (beyond > 0) refusals('connections').add();
      return beyond;
    },
    onRefusal: () => refusals('calls').add(),
  });
  availability.onDrain(() => listener.drain());
  metrics.gauge({ name: 'hub_rpc_connections', help: 'Open connections to the internal port.' }, () =>
    promisify(listener.server.getConnections.bind(listener.server))(),
  );
  metrics.gauge(
    {
      name: 'hub_rpc_certificate_expires_timestamp_seconds',
      help: 'When the certificate of the internal port expires, in seconds since 1970; nothing without TLS.',
      together: 'min',
    },
    () => secondsOf(tls?.expiresAt().getTime()),
  );
  await listen(listener.server, config.rpcPort, config.host, '--rpc-port or HUB_RPC_PORT');
  const resources = undo.move();
  return {
    transport: createDirectTransport({
      services: all,
      interceptors: [traceServed, ...interceptors],
      caller: { name: 'gateway', role: 'service' },
      defaultTimeoutMs: CALL_TIMEOUT_MS,
    }),
    rpcUrl: urlOf(listener.server, tls ? 'https' : 'http'),
    adminToken: new Secret(adminToken),
    dataDir,
    reload: async () => tls?.reload(),
    async stop(graceMs) {
      const graceOver = setTimeout(() => ending.abort(), graceMs);
      await listener.close(graceMs);
      await resources.disposeAsync();
      clearTimeout(graceOver);
    },
  };
}

/** Past a pooler, where there is a way: a migration may take longer than a pooler lets a statement take. */
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

/** The database of a hub, with the tables of every room. */
export function openHubDatabase(
  address: DatabaseAddress,
  poolSize: number,
  logger: Logger,
): Promise<Database> {
  return openDatabase({
    ...address,
    poolSize,
    entities: [...storageEntities, ...accessEntities, ...licenseEntities, ...paymentEntities],
    log: (message) => logger.debug(message),
  });
}

/** Adds health and reflection, which describe the services and themselves. */
function withStandardServices(
  services: readonly ServiceEntry[],
  isReady: () => Promise<boolean>,
): ServiceEntry[] {
  const described = services.map((entry) => entry.service);
  return [
    ...services,
    serve(Health, createHealthService({ services: described, isReady })),
    ...createReflectionServices([...described, Health]),
  ];
}

function secondsOf(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1_000;
}
