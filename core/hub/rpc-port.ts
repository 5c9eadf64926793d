// The RPC port of the hub, and the transport that calls the same services within the process.
import { promisify } from 'node:util';
import { create } from '@bufbuild/protobuf';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { createConnectionCap } from '../../lib/net/client-limits.ts';
import { createLimitRefusals } from '../../lib/net/limit-metrics.ts';
import type { Readiness } from '../../lib/net/readiness.ts';
import { shareRead } from '../../lib/net/share-read.ts';
import { traceServedRpcs } from '../../lib/tracing/spans.ts';
import { type Authenticate, createAuthenticate } from '../access/authenticate.ts';
import {
  createAuthenticateGate,
  createAuthorize,
  createAuthorizeInterceptor,
  mayCall,
} from '../access/authorize.ts';
import { type AttemptLimiter, createFailedAttemptLimit } from '../access/failed-attempts.ts';
import { createFindCaller } from '../access/find-caller.ts';
import { createLastUsed } from '../access/last-used.ts';
import { createMetricsAuth } from '../access/metrics-auth.ts';
import { type CheckScope, createCheckScope } from '../access/scope.ts';
import { type ReadConsoleFile, serveConsole } from '../rpc/endpoints/console.ts';
import { createHealthService } from '../rpc/endpoints/health.ts';
import { createMetricsEndpoint, withMetrics } from '../rpc/endpoints/metrics-endpoint.ts';
import { createReflectionServices } from '../rpc/endpoints/reflection.ts';
import { createInProcessTransport } from '../rpc/in-process/transport.ts';
import { createErrorInterceptor } from '../rpc/interceptors/domain-errors.ts';
import { createRpcMetrics } from '../rpc/interceptors/metrics.ts';
import { createRequestLog } from '../rpc/interceptors/request-log.ts';
import { createValidationInterceptor } from '../rpc/interceptors/validation.ts';
import { createPageTokenInterceptor, createPageTokens, isPaged } from '../rpc/page-tokens.ts';
import { createConcurrencyLimit } from '../rpc/server/concurrency-limit.ts';
import type { Handler } from '../rpc/server/handler.ts';
import type { Listener } from '../rpc/server/listener.ts';
import { createRpcListener } from '../rpc/server/server.ts';
import type { TlsSource } from '../rpc/server/tls.ts';
import { type ServiceEntry, serve } from '../service-implementation.ts';
import { takesWrites } from '../storage/database.ts';
import { createSchemaWatch } from '../storage/schema/newer-schema.ts';
import { secondsOf } from './database.ts';
import type { Modules, WireModulesOptions } from './modules.ts';

/**
 * The same as for a gateway in another process, so that clients wait no longer for a database that does not
 * answer.
 */
const CALL_TIMEOUT_MS = 10_000;
/** How long the result of a check of the database is used. */
const READY_MS = 500;
/** How long the result of a check for a newer schema is used. */
const SCHEMA_WATCH_MS = 2_000;

/** The caller of the in-process transport. */
const GATEWAY = { name: 'gateway', role: 'gateway' } as const;

export type WireRpcPortOptions = Pick<
  WireModulesOptions,
  'config' | 'db' | 'clock' | 'keys' | 'logger' | 'metrics' | 'collect' | 'undo'
> &
  Pick<Modules, 'services' | 'findOwner'> & {
    readonly tls: TlsSource | undefined;
    readonly attemptLimiter: AttemptLimiter | undefined;
    readonly readConsole: ReadConsoleFile;
    readonly readiness: Pick<Readiness, 'state' | 'onDrain'>;
  };

/** Creates both; the port does not listen yet. */
export function wireRpcPort(options: WireRpcPortOptions) {
  const { config, keys, tls, logger, metrics, readiness } = options;
  const refusals = createLimitRefusals(metrics);
  const authenticate = wireAuthentication(options, () => refusals('tokens').inc());
  const checkScope = createCheckScope(options.findOwner);
  const isReady = wireReadiness(options);
  const services = withStandardServices(options.services, isReady);
  const mapErrors = createErrorInterceptor(logger);
  const authorize = createAuthorizeInterceptor(authenticate, checkScope);
  const validate = createValidationInterceptor();
  const openPageTokens = createPageTokenInterceptor(createPageTokens(keys));
  const requestLog = createRequestLog(logger, createRpcMetrics(metrics));
  const withEndpoints = wireEndpoints(options, authenticate, checkScope);
  const admitConnection = createConnectionCap({ perClient: config.connectionsPerClient, logger });
  const listener = createRpcListener({
    services,
    interceptors: [
      traceServedRpcs,
      requestLog.interceptor,
      mapErrors,
      authorize,
      validate,
      openPageTokens,
      createConcurrencyLimit(config.maxInFlight, metrics),
    ],
    gate: createAuthenticateGate(authenticate),
    isReady,
    wrap: (handler) => requestLog.wrap(withEndpoints(handler)),
    onFailure: (err) => logger.error({ err }, 'an RPC failed outside of its handler'),
    tls,
    admit(socket) {
      const beyond = admitConnection(socket);
      if (beyond > 0) refusals('connections').inc();
      return beyond;
    },
    onRefusal: () => refusals('calls').inc(),
  });
  readiness.onDrain(() => listener.drain());
  measurePort(metrics, listener, tls);
  const transport = createInProcessTransport({
    services,
    interceptorsOf: (method) => [
      traceServedRpcs,
      mapErrors,
      // The gateway has no scope: its role alone decides, the same for each call.
      ...(mayCall(GATEWAY.role, method) ? [] : [authorize]),
      validate,
      ...(isPaged(method) ? [openPageTokens] : []),
    ],
    caller: GATEWAY,
    defaultTimeoutMs: CALL_TIMEOUT_MS,
  });
  return { listener, transport };
}

function wireAuthentication(
  { db, clock, attemptLimiter, logger, undo }: WireRpcPortOptions,
  onRefusal: () => void,
): Authenticate {
  const lastUsed = createLastUsed({
    pool: db.pool,
    onError: (err) => logger.warn({ err }, 'cannot write the last-used time of a token'),
  });
  undo.defer(() => lastUsed.close());
  return createAuthenticate({
    findCaller: createFindCaller({ pool: db.pool, clock, lastUsed }),
    clock,
    limitFailedAttempts:
      attemptLimiter &&
      createFailedAttemptLimit({
        limiter: attemptLimiter,
        onError: (err) => logger.warn({ err }, 'cannot count failed attempts'),
        onRefusal,
      }),
  });
}

/** Health needs no token, so all requests and watches share one check of the database at a time. */
function wireReadiness({ config, db, logger, readiness }: WireRpcPortOptions): () => Promise<boolean> {
  const isWritable = shareRead(() => takesWrites(db.pool).catch(() => false), READY_MS);
  const fitsSchema = shareRead(
    createSchemaWatch({ pool: db.pool, hubVersion: config.version, logger }),
    SCHEMA_WATCH_MS,
  );
  return async () => readiness.state === 'serving' && (await isWritable()) && (await fitsSchema());
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

/** Serves the console and /metrics beside the RPCs. */
function wireEndpoints(
  { collect, readConsole, logger }: WireRpcPortOptions,
  authenticate: Authenticate,
  checkScope: CheckScope,
): (handler: Handler) => Handler {
  const { readMetrics } = MetricsService.method;
  const authorize = createAuthorize(authenticate);
  const admit = createMetricsAuth(async (header, values) => {
    const caller = await authorize(readMetrics, () => header, values);
    if (caller !== undefined) await checkScope(caller, readMetrics, create(readMetrics.input));
  });
  const metricsEndpoint = createMetricsEndpoint({ collect, admit, logger });
  const console = {
    read: readConsole,
    onFailure: (err: unknown) => logger.error({ err }, 'cannot serve the console'),
  };
  return (handler) => serveConsole(console, withMetrics(handler, metricsEndpoint));
}

function measurePort(metrics: Metrics, listener: Listener, tls: TlsSource | undefined): void {
  metrics.gauge({ name: 'hub_rpc_connections', help: 'Open connections to the internal port.' }, () =>
    promisify(listener.server.getConnections.bind(listener.server))(),
  );
  metrics.gauge(
    {
      name: 'hub_rpc_certificate_expires_timestamp_seconds',
      help: 'When the certificate of the internal port expires, in seconds since 1970; nothing without TLS.',
      aggregator: 'min',
    },
    () => secondsOf(tls?.expiresAt().getTime()),
  );
}
