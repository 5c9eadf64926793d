// The public HTTP/1.1 server: its settings, and how it stops.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { Transport } from '@connectrpc/connect';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { createClientErrorListener, createRefuse } from './client-error.ts';
import { createClientIp, type ProxyHeader } from './client-ip.ts';
import { healthRoutes } from './health-routes.ts';
import { licenseRoutes } from './license-routes.ts';
import { Problem } from './problem.ts';
import { createLimiter, createRateLimit } from './rate-limit.ts';
import { createRequestListener } from './request.ts';
import { webhookRoutes } from './webhook-routes.ts';

export type GatewayOptions = {
  /** Where the core's RPCs answer. A deadline for them is the transport's to set. */
  transport: Transport;
  logger: Logger;
  /** Requests per client and minute over the license endpoints; 0: no limit. */
  ratePerMinute: number;
  /** Counts for all gateways together, made and owned by the caller; without it, each counts in memory. */
  redis?: Redis;
  /** Addresses and CIDR ranges, as `parseTrustedProxies` returns them. */
  trustedProxies: readonly string[];
  /** The one header in which the trusted proxies name the client. */
  proxyHeader: ProxyHeader;
  /** Default: 65536. */
  maxBodyBytes?: number;
  /** How long the headers may take, and then the body. Default: 10000. */
  bodyTimeoutMs?: number;
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

export function createGateway(options: GatewayOptions): Gateway {
  const { transport, logger, ratePerMinute, redis, maxBodyBytes = 65_536, bodyTimeoutMs = 10_000 } = options;
  const underWay = new Set<ServerResponse>();
  const refuse = createRefuse(logger);
  const state = { draining: false };

  const listener = createRequestListener({
    routes: [...licenseRoutes(transport), ...webhookRoutes(transport), ...healthRoutes(transport)],
    clientIp: createClientIp(options),
    rateLimit:
      ratePerMinute > 0
        ? createRateLimit({ ratePerMinute, limiter: createLimiter(ratePerMinute, redis), logger })
        : undefined,
    bodyLimits: { maxBytes: maxBodyBytes, timeoutMs: bodyTimeoutMs },
    logger,
    isDraining: () => state.draining,
  });
  const serve = (req: ServerResponse['req'], res: ServerResponse): void => {
    underWay.add(res);
    res.once('close', () => {
      underWay.delete(res);
      if (state.draining && underWay.size === 0) server.closeAllConnections();
    });
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
  server.maxHeadersCount = 100;
  server.on('request', serve);
  // `Expect: 100-continue` is answered when the body is wanted; other expectations may be ignored (RFC 9110 section 10.1.1).
  server.on('checkContinue', serve);
  server.on('checkExpectation', serve);
  server.on('clientError', createClientErrorListener(underWay, refuse));
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy());
    refuse(socket, new Problem('not_found', 'This is no proxy.'));
  });

  const close = (graceMs: number): Promise<void> =>
    new Promise((resolve) => {
      state.draining = true;
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      // An error only says that the server was not listening.
      server.close(() => {
        clearTimeout(cut);
        resolve();
      });
      if (underWay.size === 0) server.closeAllConnections();
    });

  return { server, close };
}

const MAX_HEADER_BYTES = 16 * 1024;
/** Longer than the 60 s that load balancers usually keep an idle connection, so that they close it first. */
const KEEP_ALIVE_MS = 65_000;
