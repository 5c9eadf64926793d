// The public HTTP/1.1 server: its options, wiring and shutdown.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { promisify } from 'node:util';
import type { Transport } from '@connectrpc/connect';
import { createMetrics, type Metrics } from '../../lib/metrics/metrics.ts';
import {
  createConnectionCap,
  createRequestCap,
  createSlowClientWatchdog,
  MAX_CONNECTIONS,
} from '../../lib/net/client-limits.ts';
import { createLimitRefusals } from '../../lib/net/limit-metrics.ts';
import { createClientIp, createIsProxy, type ProxyHeader } from '../../lib/net/proxies.ts';
import type { Readiness } from '../../lib/net/readiness.ts';
import { createLimits, type LimitOptions } from '../limits/create-limits.ts';
import { createLoadShedder } from '../limits/request-limits.ts';
import { Problem } from '../problem.ts';
import { gatewayRoutes } from '../routes/all-routes.ts';
import { createClientErrorListener, createRefuse } from './client-error.ts';
import { createCors } from './cors.ts';
import { createRequestListener } from './request.ts';
import { createHttpMetrics } from './respond.ts';

export type GatewayOptions = LimitOptions & {
  /** Transport to the core's RPCs. It sets their deadline. */
  transport: Transport;
  /** Registry of the gateway's metrics. Default: a private one. */
  metrics?: Metrics;
  /** License requests in flight; further ones are shed. */
  maxInFlight: number;
  /** Whether to cancel a read RPC when its client disconnects. Default: true. */
  abandonsReads?: boolean;
  /** Connections per client that is not a trusted proxy; 0: no limit. */
  connectionsPerClient: number;
  /** Addresses and CIDR ranges, from `parseTrustedProxies`. */
  trustedProxies: readonly string[];
  /** The header in which trusted proxies forward the client's address. */
  proxyHeader: ProxyHeader;
  /** Origins whose pages may call the license endpoints, from `parseOrigins`. Default: none. */
  corsOrigins?: readonly string[];
  /** HUB_PUBLIC_URL, for the cookies and forms of the pages for customers. Default: unknown. */
  publicUrl?: string | undefined;
  /** Whether to serve /docs and /openapi.json. Default: true. */
  docs?: boolean;
  /** Rejects while the core refuses the gateway, which is then not ready. Default: the core never does. */
  checkAccess?: (() => Promise<void>) | undefined;
  /** Readiness. Default: always ready. */
  readiness?: Pick<Readiness, 'state' | 'onDrain'>;
  /** Timeout of the headers and, after them, of the body. Default: 10000. */
  bodyTimeoutMs?: number;
  /** Timeout for the client to read a response. Default: 30000. */
  answerTimeoutMs?: number;
};

export type Gateway = {
  /** Not listening yet. */
  server: Server;
  /**
   * Stops accepting connections, finishes requests in flight with `Connection: close`, and closes the remaining
   * connections after `graceMs`. Resolves when every connection is closed.
   */
  close(graceMs: number): Promise<void>;
};

/** The connections of one client beyond its cap that get a response; further ones are closed at once. */
const MAX_SURPLUS_RESPONSES = 20;
const SURPLUS_MS = 1_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 64 * 1024;
/** Longer than the 60 s for which load balancers usually keep an idle connection, so that they close it first. */
const KEEP_ALIVE_MS = 65_000;

export function createGateway(options: GatewayOptions): Gateway {
  const { transport, logger, metrics = createMetrics(), docs = true } = options;
  const { bodyTimeoutMs = 10_000, answerTimeoutMs = 30_000 } = options;
  const { corsOrigins = [], readiness = { state: 'serving', onDrain() {} } } = options;
  const shutdown = { isDraining: readiness.state === 'draining' };
  readiness.onDrain(() => {
    shutdown.isDraining = true;
  });

  const refusals = createLimitRefusals(metrics);
  const { guesses, purchases, rateLimits } = createLimits(options, metrics, refusals);
  const shedder = createLoadShedder(options.maxInFlight);
  metrics.gauge(
    { name: 'hub_http_in_flight', help: 'License requests in progress at the public gateway.' },
    () => shedder.inFlight,
  );
  const meter = createHttpMetrics(metrics);
  const refuse = createRefuse(logger, meter);
  const isExempt = createIsProxy(options.trustedProxies);
  const watchdog = createSlowClientWatchdog<ServerResponse>({
    requestMs: 2 * bodyTimeoutMs,
    answerMs: answerTimeoutMs,
  });

  const server = createHttpServer(bodyTimeoutMs);
  metrics.gauge({ name: 'hub_http_connections', help: 'Open connections to the public gateway.' }, () =>
    promisify(server.getConnections.bind(server))(),
  );
  const surplus = capConnections(
    server,
    createConnectionCap({ perClient: options.connectionsPerClient, isExempt, logger }),
    refusals('connections'),
  );
  const listener = createRequestListener({
    routes: gatewayRoutes(transport, {
      guesses,
      purchases,
      publicUrl: options.publicUrl,
      checkAccess: options.checkAccess,
      isUnavailable: () => shedder.isShedding() || readiness.state !== 'serving',
      docs,
    }),
    mayServe: createRequestCap({ isExempt }),
    watchdog,
    clientIp: createClientIp(options),
    shedder,
    cors: corsOrigins.length > 0 ? createCors(corsOrigins) : undefined,
    rateLimits,
    bodyLimits: { maxBytes: MAX_BODY_BYTES, timeoutMs: bodyTimeoutMs },
    logger,
    meter,
    abandonsReads: options.abandonsReads ?? true,
    shutdown,
    surplus,
  });
  server.on('request', listener);
  // The body reader answers `Expect: 100-continue`; other expectations may be ignored (RFC 9110 section 10.1.1).
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
  server.on('clientError', createClientErrorListener(watchdog.responses, refuse));
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, new Problem('not_found', 'This server is not a proxy.'));
  });

  const close = (graceMs: number): Promise<void> =>
    new Promise((resolve) => {
      shutdown.isDraining = true;
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      // An error only means that the server was not listening.
      server.close(() => {
        clearTimeout(cut);
        watchdog.stop();
        resolve();
      });
      watchdog.onIdle(() => server.closeAllConnections());
    });
  return { server, close };
}

function createHttpServer(bodyTimeoutMs: number): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: bodyTimeoutMs,
    // A backstop: headers and body have a timeout each.
    requestTimeout: 2 * bodyTimeoutMs + 1_000,
    connectionsCheckingInterval: 500,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The request listener responds to a missing Host with a problem document.
    requireHostHeader: false,
    insecureHTTPParser: false,
  });
  server.maxHeadersCount = 100;
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

/**
 * Applies the connection cap. A connection beyond it gets a response to its first request and a short time for it.
 * Returns these connections.
 */
function capConnections(
  server: Server,
  countExcess: (socket: Socket) => number,
  refusals: { inc(): void },
): WeakSet<Socket> {
  const surplus = new WeakSet<Socket>();
  server.on('connection', (socket) => {
    const excess = countExcess(socket);
    if (excess === 0) return;
    refusals.inc();
    if (excess > MAX_SURPLUS_RESPONSES) {
      socket.destroy();
      return;
    }
    surplus.add(socket);
    const timer = setTimeout(() => socket.destroy(), SURPLUS_MS);
    socket.once('close', () => clearTimeout(timer));
  });
  return surplus;
}
