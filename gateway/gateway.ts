// The public HTTP/1.1 server: its settings, and how it stops.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { promisify } from 'node:util';
import type { Transport } from '@connectrpc/connect';
import type { Cluster, Redis } from 'ioredis';
import type { Logger } from 'pino';
import { createMetrics, type Metrics } from '../metrics/metrics.ts';
import type { Availability } from '../ports/availability.ts';
import { createConnectionCap, MAX_CONNECTIONS } from '../ports/connection-cap.ts';
import { createExchangeCap } from '../ports/exchange-cap.ts';
import { createExchangeWatch } from '../ports/exchange-watch.ts';
import { createLimitRefusals } from '../ports/limit-refusals.ts';
import { createFallbackCount } from '../ports/redis-fallbacks.ts';
import { createClientErrorListener, createRefuse } from './client-error.ts';
import { createClientIp, createIsProxy, type ProxyHeader } from './client-ip.ts';
import { createCors } from './cors.ts';
import { createCounts } from './counts.ts';

import { createGuessLimit, type GuessLimit } from './guess-limit.ts';
import { healthRoutes } from './health-routes.ts';
import { createHttpMeter } from './http-meter.ts';
import { licenseRoutes } from './license-routes.ts';
import { createLoad } from './load.ts';
import { Problem } from './problem.ts';
import { createRateLimit, WINDOW_SECONDS } from './rate-limit.ts';
import { referenceRoutes } from './reference-routes.ts';
import { createRequestListener } from './request.ts';
import type { Route } from './routes.ts';
import { webhookRoutes } from './webhook-routes.ts';

export type GatewayOptions = {
  /** Where the core's RPCs answer. A deadline for them is the transport's to set. */
  transport: Transport;
  logger: Logger;
  /** Where it counts; by default nowhere that anybody reads. */
  metrics?: Metrics;
  /** Requests per client and minute over the license endpoints; 0: no limit. */
  ratePerMinute: number;
  /** Wrong guesses at keys and fingerprints per client in ten minutes; 0: no limit. */
  wrongGuesses: number;
  /** License requests worked on at the same time; those beyond are shed. */
  maxInFlight: number;
  /**
   * Whether an RPC that only reads is given up when its client has left, which saves a core in another process the work.
   * Default: true.
   */
  abandonsReads?: boolean;
  /** Connections from one address that is no trusted proxy; 0: any number. */
  connectionsPerClient: number;
  /** Counts for all gateways together, made and owned by the caller; without it, each counts in memory. */
  redis?: Redis | Cluster;
  /** Addresses and CIDR ranges, as `parseTrustedProxies` returns them. */
  trustedProxies: readonly string[];
  /** The one header in which the trusted proxies name the client. */
  proxyHeader: ProxyHeader;
  /** Origins whose pages may call the license endpoints, as `parseOrigins` returns them. Default: none. */
  corsOrigins?: readonly string[];
  /** Whether it serves the reference of itself at /docs and /openapi.json. Default: true. */
  docs?: boolean;
  /** Whether it wants requests. Default: as long as it runs. */
  availability?: Pick<Availability, 'state'>;
  /** Default: 65536. */
  maxBodyBytes?: number;
  /** How long the headers may take, and then the body. Default: 10000. */
  bodyTimeoutMs?: number;
  /** How long a client may take to read an answer. Default: 30000. */
  answerTimeoutMs?: number;
};

export type Gateway = {
  /** Not listening yet. */
  server: Server;
  /**
   * Stops accepting, finishes the requests under way with `Connection: close`, and cuts what is left after
   * `graceMs`. Resolves when every connection is closed.
   */
  close(graceMs: number): Promise<void>;
};

/** Everything the gateway serves. */
export function gatewayRoutes(
  transport: Transport,
  {
    guesses,
    isUnavailable = () => false,
    docs = true,
  }: { guesses?: GuessLimit | undefined; isUnavailable?: () => boolean; docs?: boolean } = {},
): Route[] {
  return [
    ...licenseRoutes(transport, guesses),
    ...webhookRoutes(transport),
    ...healthRoutes(transport, isUnavailable),
    ...(docs ? referenceRoutes() : []),
  ];
}

const servingAlways = (): Pick<Availability, 'state'> => ({ state: 'serving' });

export function createGateway(options: GatewayOptions): Gateway {
  const { transport, logger, ratePerMinute, wrongGuesses, maxInFlight, redis, docs = true } = options;
  const { maxBodyBytes = 65_536, bodyTimeoutMs = 10_000, answerTimeoutMs = 30_000 } = options;
  const { metrics = createMetrics() } = options;
  const refusals = createLimitRefusals(metrics);
  const { availability = servingAlways() } = options;
  let closing = false;

  const counts = createCounts(redis, createFallbackCount(metrics));
  const guesses =
    wrongGuesses > 0 ? createGuessLimit({ wrongGuesses, counts, refusals: refusals('guesses') }) : undefined;
  const load = createLoad(maxInFlight);
  metrics.gauge(
    { name: 'hub_http_in_flight', help: 'License requests at the public gateway that are worked on.' },
    () => load.inFlight,
  );
  const meter = createHttpMeter(metrics);
  const refuse = createRefuse(logger, meter);
  const listener = createRequestListener({
    routes: gatewayRoutes(transport, {
      guesses,
      isUnavailable: () => load.isShedding() || availability.state !== 'serving',
      docs,
    }),
    clientIp: createClientIp(options),
    load,
    cors: createCors(options.corsOrigins ?? []),
    rateLimit:
      ratePerMinute > 0
        ? createRateLimit({
            ratePerMinute,
            limiter: counts.limiter({ name: 'license', points: ratePerMinute, seconds: WINDOW_SECONDS }),
            logger,
            refusals: refusals('requests'),
          })
        : undefined,
    bodyLimits: { maxBytes: maxBodyBytes, timeoutMs: bodyTimeoutMs },
    logger,
    meter,
    abandonsReads: options.abandonsReads ?? true,
    isDraining: () => closing || availability.state === 'draining',
    isSurplus: (socket) => surplus.has(socket),
  });
  const isExempt = createIsProxy(options.trustedProxies);
  const admit = createConnectionCap({ perClient: options.connectionsPerClient, isExempt, logger });
  const admitExchange = createExchangeCap({ isExempt });
  /** Connections beyond the cap: each gets an answer to its first request, and little time for it. */
  const surplus = new WeakSet<Duplex>();
  const exchanges = createExchangeWatch<ServerResponse>({
    requestMs: 2 * bodyTimeoutMs,
    answerMs: answerTimeoutMs,
  });
  const closeIfIdle = (): void => {
    if (exchanges.size === 0) server.closeAllConnections();
  };
  const serve = (req: ServerResponse['req'], res: ServerResponse): void => {
    if (!admitExchange(req, res)) return;
    exchanges.begin(req, res);
    if (closing) res.once('close', closeIfIdle);
    listener(req, res);
  };

  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: bodyTimeoutMs,
    // Only a backstop: the body has its own time, after the headers had theirs.
    requestTimeout: 2 * bodyTimeoutMs + 1_000,
    connectionsCheckingInterval: 500,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The listener answers a missing Host itself, with a problem document.
    requireHostHeader: false,
    insecureHTTPParser: false,
  });
  metrics.gauge({ name: 'hub_http_connections', help: 'Open connections to the public gateway.' }, () =>
    promisify(server.getConnections.bind(server))(),
  );
  server.maxHeadersCount = 100;
  server.maxConnections = MAX_CONNECTIONS;
  const refusedConnections = refusals('connections');
  server.on('connection', (socket) => {
    const beyond = admit(socket);
    if (beyond > 0) refusedConnections.add();
    if (beyond > SURPLUS_ANSWERED) socket.destroy();
    else if (beyond > 0) {
      surplus.add(socket);
      const timer = setTimeout(() => socket.destroy(), SURPLUS_MS);
      socket.once('close', () => clearTimeout(timer));
    }
  });
  server.on('request', serve);
  // `Expect: 100-continue` is answered when the body is wanted; other expectations may be ignored (RFC 9110 section 10.1.1).
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  server.on('clientError', createClientErrorListener(exchanges.responses, refuse));
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, new Problem('not_found', 'This is no proxy.'));
  });

  const close = (graceMs: number): Promise<void> =>
    new Promise((resolve) => {
      closing = true;
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      // An error only says that the server was not listening.
      server.close(() => {
        clearTimeout(cut);
        exchanges.stop();
        resolve();
      });
      for (const res of exchanges.responses()) res.once('close', closeIfIdle);
      closeIfIdle();
    });

  return { server, close };
}

/** Connections of one client beyond its cap that are told so; those beyond these are closed without a word. */
const SURPLUS_ANSWERED = 20;
const SURPLUS_MS = 1_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Longer than the 60 s that load balancers usually keep an idle connection, so that they close it first. */
const KEEP_ALIVE_MS = 65_000;
