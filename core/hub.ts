// The only place where the hub is wired together: configuration in, a started hub out.
import type { Transport } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { Health } from '../gen/grpc/health/v1/health_pb.ts';
import { AccessService } from '../gen/hub/access/v1/access_service_pb.ts';
import { createAccessService } from './access/access-service.ts';
import { createAuthenticateGate, createAuthorizeInterceptor } from './access/authorize.ts';
import { accessEntities } from './access/entities.ts';
import { ensureLocalToken } from './access/local-token.ts';
import { findCaller } from './access/service-token.ts';
import { type Clock, systemClock } from './clock.ts';
import { licenseEntities } from './license/entities.ts';
import { createLicenseRoom } from './license/room.ts';
import { paymentEntities } from './payment/entities.ts';
import { createPaymentRoom, type PaymentConfig } from './payment/room.ts';
import { createDirectTransport } from './rpc/direct-transport.ts';
import { createErrorInterceptor } from './rpc/errors.ts';
import { createHealthService } from './rpc/health.ts';
import { listen, urlOf } from './rpc/listener.ts';
import { createReflectionServices } from './rpc/reflection.ts';
import { createRequestLog } from './rpc/request-log.ts';
import { createRpcListener } from './rpc/server.ts';
import { createValidationInterceptor } from './rpc/validation.ts';
import { type ServiceEntry, serve } from './service-entry.ts';
import { type DataDir, openDataDir } from './storage/data-dir.ts';
import { type Database, openDatabase } from './storage/database.ts';
import { storageEntities } from './storage/entities.ts';
import { claimDatabase, loadKeyRing, type MasterKeySource } from './storage/key-ring.ts';
import { migrateUp } from './storage/migrate.ts';
import { ownPostgres } from './storage/owned-postgres.ts';
import { createSealer } from './storage/sealing.ts';

export type HubConfig = {
  /** What the hub says it is. */
  readonly version: string;
  /** Undefined: the embedded PostgreSQL in the data directory. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** Address the RPC port binds. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly rpcPort: number;
  readonly masterKey: MasterKeySource;
  /** Most database connections of this process. */
  readonly poolSize: number;
  readonly payment: PaymentConfig;
};

export type HubParts = {
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Told when the hub cannot go on; its owner has to stop it. */
  readonly onFatal?: (error: Error) => void;
};

export type Hub = {
  /** Calls the services in this process, as the gateway does. */
  readonly transport: Transport;
  readonly rpcUrl: string;
  /** An admin token, also in the data directory. */
  readonly adminToken: string;
  readonly dataDir: DataDir;
  /** Lets RPCs under way finish for at most `graceMs`, then closes everything. */
  stop(graceMs: number): Promise<void>;
};

/** Starts the core: database, migrations, services, RPC port. Throws an Error that says what is wrong. */
export async function startHub(
  config: HubConfig,
  { logger, clock = systemClock, onFatal = () => {} }: HubParts,
): Promise<Hub> {
  await using undo = new AsyncDisposableStack();
  const dataDir = await openDataDir(config.dataDir);
  const { keys, createdFile } = await loadKeyRing(config.masterKey, dataDir);
  if (createdFile) {
    logger.warn(`made a master key in ${createdFile}: back it up, nothing sealed can be read without it`);
  }
  let databaseUrl = config.databaseUrl;
  if (databaseUrl === undefined) {
    const postgres = await ownPostgres({ dataDir, log: (line) => logger.info(line), onLost: onFatal });
    undo.defer(() => postgres.stop());
    databaseUrl = postgres.url;
  }
  const db = await openHubDatabase(databaseUrl, config.poolSize, logger);
  undo.defer(() => db.close());

  const applied = await migrateUp(db);
  if (applied.length > 0) logger.info({ applied }, 'schema brought up to date');
  await claimDatabase(db.pool, keys, clock);
  const adminToken = await ensureLocalToken(db.pool, dataDir, clock);

  const sealer = createSealer(keys);
  const licenses = createLicenseRoom({ db, sealer, clock, logger });
  undo.defer(() => licenses.close());
  const { secrets: otherSecrets } = licenses;
  const payments = await createPaymentRoom({
    config: config.payment,
    db,
    databaseUrl,
    sealer,
    otherSecrets,
    clock,
    logger,
  });
  undo.defer(() => payments.close());
  const services = [
    ...licenses.services,
    ...payments.services,
    serve(AccessService, createAccessService(config.version, clock)),
  ];
  const all = withStandardServices(services, db);
  const authenticated = (token: string) => findCaller(db.pool, clock, token);
  const interceptors = [
    createErrorInterceptor(logger),
    createAuthorizeInterceptor(authenticated),
    createValidationInterceptor(),
  ];

  const requestLog = createRequestLog(logger);
  const listener = createRpcListener({
    services: all,
    interceptors: [requestLog.interceptor, ...interceptors],
    gate: createAuthenticateGate(authenticated),
    wrap: requestLog.wrap,
  });
  await listen(listener.server, config.rpcPort, config.host, '--rpc-port or HUB_RPC_PORT');
  const resources = undo.move();
  return {
    transport: createDirectTransport({
      services: all,
      interceptors,
      caller: { name: 'gateway', role: 'service' },
    }),
    rpcUrl: urlOf(listener.server),
    adminToken,
    dataDir,
    async stop(graceMs) {
      await listener.close(graceMs);
      await resources.disposeAsync();
    },
  };
}

/** The database of a hub, with the tables of every room. */
export function openHubDatabase(url: string, poolSize: number, logger: Logger): Promise<Database> {
  return openDatabase({
    url,
    poolSize,
    entities: [...storageEntities, ...accessEntities, ...licenseEntities, ...paymentEntities],
    log: (message) => logger.debug(message),
  });
}

/** Adds health and reflection, which describe the services and themselves. */
function withStandardServices(services: readonly ServiceEntry[], db: Database): ServiceEntry[] {
  const described = services.map((entry) => entry.service);
  const isReady = (): Promise<boolean> =>
    db.pool.query('select 1').then(
      () => true,
      () => false,
    );
  return [
    ...services,
    serve(Health, createHealthService({ services: described, isReady })),
    ...createReflectionServices([...described, Health]),
  ];
}
