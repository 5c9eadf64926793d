// Composes a running hub from the core and the gateway, for `serve` and `demo`.
import type { Transport } from '@connectrpc/connect';
import type { Logger } from 'pino';
import type { AttemptLimiter } from '../../core/access/failed-attempts.ts';
import type { Clock } from '../../core/clock.ts';
import { type Hub, startHub } from '../../core/hub.ts';
import type { MailConfig } from '../../core/mail/sending/send-mail.ts';
import { listen, urlOf } from '../../core/rpc/server/listener.ts';
import type { TlsFiles } from '../../core/rpc/server/tls.ts';
import type { RedisClient } from '../../core/storage/redis/open-redis.ts';
import { createLimitStore } from '../../gateway/limits/limit-store.ts';
import { createGateway } from '../../gateway/server/server.ts';
import { collectAll, createMetrics, type Gather, type Metrics } from '../../lib/metrics/metrics.ts';
import { measureProcess } from '../../lib/metrics/process.ts';
import { createFallbackCount } from '../../lib/net/limit-metrics.ts';
import { clientKey } from '../../lib/net/proxies.ts';
import { createReadiness, type Readiness } from '../../lib/net/readiness.ts';
import { packageVersion } from '../version.ts';
import { createCoreAccessCheck } from './check-core-access.ts';
import { consoleFiles } from './console-files.ts';
import { coreTransport, openCore } from './core-transport.ts';
import { type Addresses, hubFile } from './hub-file.ts';
import type { LogOutput } from './log-output.ts';
import { openMetricsPort } from './metrics-port.ts';
import type { Settings } from './setting-table.ts';
import { DEATHS, WORKERS } from './workers/metrics.ts';

export type RunningHub = {
  /** Undefined in the role core. */
  readonly gatewayUrl: string | undefined;
  /** The core; undefined in the role gateway. */
  readonly core: Hub | undefined;
  /**
   * The metrics address of a separate gateway; undefined in the other roles, whose RPC port serves metrics.
   */
  readonly metricsUrl: string | undefined;
  readonly metrics: Metrics;
  /** Resolves when hubctl can find the hub; ends before it stops. */
  readonly readiness: Readiness;
  /** Reloads the certificates of the internal port, if any. */
  reload(): Promise<void>;
  /** Stops accepting, finishes requests for at most `graceMs`, closes everything. */
  stop(graceMs: number): Promise<void>;
};

export type RunOptions = {
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  readonly onFatal?: (error: Error) => void;
  /** The number of this process, from 1, if several serve the same ports. */
  readonly worker?: number | undefined;
  /** Adds the metrics of the other processes. */
  readonly gather?: Gather | undefined;
  /** The state of this process's log. */
  readonly log?: Partial<Pick<LogOutput, 'lostLines' | 'isWritable'>>;
};

/** The addresses, for logs and for hubctl. */
export function addressesOf({ gatewayUrl: gateway, core, metricsUrl: metrics }: RunningHub): Addresses {
  return { gateway, rpc: core?.rpcUrl, metrics };
}

export async function runHub(settings: Settings, options: RunOptions): Promise<RunningHub> {
  const { logger } = options;
  await using undo = new AsyncDisposableStack();
  /** When the grace period of a stop ends, by `performance.now()`. A failed start has none. */
  let graceOver = 0;
  const remainingMs = (): number => Math.max(0, graceOver - performance.now());
  const readiness = createReadiness();
  const metrics = createMetrics();
  const processMeter = measureProcess(metrics, { version: packageVersion(), role: settings.role });
  undo.defer(() => processMeter.stop());
  if (options.gather === undefined) {
    // With workers, the parent process announces the hub.
    const states = ['wanted', 'serving', 'answering'];
    metrics.gauge(WORKERS, () => states.map((state) => ({ labels: { state }, value: 1 })));
    metrics.observedCounter(DEATHS, () => 0);
  }
  metrics.observedCounter(
    { name: 'hub_log_lost_lines_total', help: 'Lines of the log that could not be written.' },
    () => options.log?.lostLines ?? 0,
  );
  metrics.gauge(
    { name: 'hub_log_writable', help: 'Whether the last write of the log succeeded.', aggregator: 'min' },
    () => Number(options.log?.isWritable ?? true),
  );
  const redisConnection = await connectRedis(settings, logger, metrics);
  undo.defer(async () => redisConnection?.close());
  const redis = redisConnection?.client;
  let gateway: { url: string; stop(graceMs: number): Promise<void> } | undefined;
  const core =
    settings.role === 'gateway'
      ? undefined
      : await startCore(settings, { ...options, metrics, readiness }, redis, () => gateway?.url);
  undo.defer(async () => core?.stop(remainingMs()));
  undo.defer(async () => core?.dataDir.withdraw());
  const metricsPort =
    settings.role !== 'gateway'
      ? undefined
      : await openMetricsPort(settings, {
          collect: () => collectAll(metrics, options.gather),
          core: coreTransport(settings, undefined),
          logger,
        });
  undo.defer(async () => metricsPort?.close(0));
  gateway =
    settings.role === 'core'
      ? undefined
      : await startGateway(settings, { inProcess: core?.transport, redis, logger, metrics, readiness });
  // Stopped first, because its last requests need the core.
  undo.defer(async () => gateway?.stop(remainingMs()));
  if (options.worker === undefined) {
    await core?.dataDir.announce(hubFile(settings, { rpc: core.rpcUrl, gateway: gateway?.url }));
    readiness.serve();
  }
  const started = undo.move(); // the caller stops it
  return {
    gatewayUrl: gateway?.url,
    core,
    metricsUrl: metricsPort?.url,
    metrics,
    readiness,
    async reload() {
      await core?.reload();
      await metricsPort?.reload();
    },
    /** Runs all steps even if one fails: what is left would keep the process alive. */
    async stop(graceMs) {
      graceOver = performance.now() + graceMs;
      await started.disposeAsync();
    },
  };
}

function startCore(
  settings: Settings,
  {
    dataDir,
    worker,
    metrics,
    ...parts
  }: RunOptions & { readonly metrics: Metrics; readonly readiness: Readiness },
  redis: RedisClient | undefined,
  gatewayUrl: () => string | undefined,
): Promise<Hub> {
  return startHub(
    {
      version: packageVersion(),
      databaseUrl: settings.databaseUrl,
      databaseSchema: settings.databaseSchema,
      databasePooler: settings.databasePooler,
      databaseDirectUrl: settings.databaseDirectUrl,
      dataDir,
      host: settings.rpcHost,
      rpcPort: settings.rpcPort,
      rpcTls: tlsFiles(settings),
      masterKey: { text: settings.masterKey, file: settings.masterKeyFile },
      auditHeadFile: settings.auditHeadFile,
      poolSize: settings.databasePool,
      preparesDatabase: worker === undefined || worker === 1,
      maxInFlight: settings.maxInFlight,
      connectionsPerClient: settings.connectionsPerClient,
      payment: {
        gatewayAddress: { publicUrl: settings.publicUrl, localUrl: gatewayUrl },
        callbackBudgetMs: settings.callbackBudgetMs,
        providerTimeoutMs: settings.providerTimeoutMs,
        sessionCallbacks: settings.sessionCallbacks,
        providerQuestions: settings.providerQuestions,
        retryDelayMs: settings.retryDelaySeconds * 1000,
        sweepAfterMs: settings.sweepAfterMs,
      },
      eventAllowNetworks: settings.eventAllowNetworks,
      mail: mailConfig(settings),
    },
    {
      ...parts,
      metrics,
      console: consoleFiles(),
      ...(settings.failedAttemptsPerMinute > 0 && {
        attemptLimiter: createAttemptLimiter(settings.failedAttemptsPerMinute, redis, metrics),
      }),
    },
  );
}

/** The settings name a certificate and a key, or neither. */
function tlsFiles({ rpcTlsCert, rpcTlsKey, rpcTlsClientCa }: Settings): TlsFiles | undefined {
  if (rpcTlsCert === undefined || rpcTlsKey === undefined) return undefined;
  return { cert: rpcTlsCert, key: rpcTlsKey, clientCa: rpcTlsClientCa };
}

/** The settings name a mail server and a sender, or neither. */
function mailConfig({ smtpUrl, mailFrom, smtpCa }: Settings): MailConfig | undefined {
  if (smtpUrl === undefined || mailFrom === undefined) return undefined;
  return { smtpUrl, from: mailFrom, caFile: smtpCa };
}

/** The limits count as the gateway does, with the same client keys. */
function createAttemptLimiter(
  points: number,
  redis: RedisClient | undefined,
  metrics: Metrics,
): AttemptLimiter {
  const counts = createLimitStore(redis, createFallbackCount(metrics));
  const limiter = counts.limiter({ name: 'failed-attempts', points, seconds: 60 });
  return {
    consume: (address) => limiter.consume(clientKey(address)),
    get: (address) => limiter.get(clientKey(address)),
  };
}

type GatewayParts = {
  /** The core, if it runs in this process. */
  readonly inProcess: Transport | undefined;
  readonly redis: RedisClient | undefined;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly readiness: Readiness;
};

async function startGateway(
  settings: Settings,
  { inProcess, redis, logger, metrics, readiness }: GatewayParts,
) {
  const transport = inProcess ?? (await openCore(settings));
  const { server, close } = createGateway({
    transport,
    checkAccess: inProcess ? undefined : createCoreAccessCheck(settings, transport, logger),
    // In this process, a read in progress will finish.
    abandonsReads: inProcess === undefined,
    logger,
    metrics,
    readiness,
    ratePerMinute: settings.licenseRatePerMinute,
    wrongGuesses: settings.wrongGuesses,
    maxInFlight: settings.maxInFlight,
    connectionsPerClient: settings.connectionsPerClient,
    ...(redis && { redis }),
    trustedProxies: settings.trustedProxies,
    proxyHeader: settings.proxyHeader,
    corsOrigins: settings.corsOrigins,
    publicUrl: settings.publicUrl,
    docs: settings.docs,
  });
  await listen(server, settings.port, settings.host, '--port or HUB_PORT');
  return { url: urlOf(server), stop: close };
}

/** Its client is several MB, which a hub without Redis does not load. */
async function connectRedis(settings: Settings, logger: Logger, metrics: Metrics) {
  const connection =
    settings.redisUrl && (await (await import('./redis-connection.ts')).connect(settings, logger));
  metrics.gauge(
    {
      name: 'hub_redis_up',
      help: 'Whether the connection to Redis is open; nothing without REDIS_URL.',
      aggregator: 'min',
    },
    () => connection && (connection.health.state === 'away' ? 0 : 1),
  );
  metrics.gauge(
    {
      name: 'hub_redis_takes_writes',
      help: 'Whether Redis accepts writes (a replica or a full server does not); nothing while it does not answer.',
      aggregator: 'min',
    },
    () => {
      const state = connection?.health.state;
      return state === undefined || state === 'away' ? undefined : Number(state === 'up');
    },
  );
  return connection;
}
