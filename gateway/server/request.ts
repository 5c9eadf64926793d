// Serves one request: finds its route, checks limits, reads the body, calls the handler, responds, logs.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { clientKey } from '../../lib/net/client-limits.ts';
import { findSmugglingSign } from '../../lib/net/smuggling-check.ts';
import { inExchangeSpan } from '../../lib/tracing/spans.ts';
import {
  type BodyLimits,
  ClientGone,
  type JsonMembers,
  readFormBody,
  readJsonBody,
  readRawJsonBody,
} from '../body/read-body.ts';
import type { Load, RateLimits } from '../limits/request-limits.ts';
import type { HttpMetrics } from '../metrics.ts';
import { problemPage } from '../pages/problem-page.ts';
import { Problem } from '../problem.ts';
import { rpcOf } from '../routes/operation.ts';
import {
  type Call,
  createMatcher,
  parseTarget,
  type RateName,
  type Route,
  type RouteResponse,
} from '../routes/routes.ts';
import { tooManyConnections, toProblem } from '../rpc-problem.ts';
import type { ClientIp } from './client-ip.ts';
import type { Cors } from './cors.ts';
import { problemResponse, sendResponse } from './send-response.ts';

export type RequestListenerOptions = {
  routes: readonly Route[];
  clientIp: ClientIp;
  /** Undefined if no origin is listed. */
  cors: Cors | undefined;
  load: Load;
  rateLimits: RateLimits | undefined;
  bodyLimits: BodyLimits;
  logger: Logger;
  meter: HttpMetrics;
  /** See `GatewayOptions`. */
  abandonsReads: boolean;
  /** Whether responses close their connection. */
  isDraining: () => boolean;
  /** Whether a connection exceeds its client's cap. */
  isSurplus: (socket: IncomingMessage['socket']) => boolean;
};

type Exchange = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestId: string;
  readonly ip: string;
  readonly startedAt: number;
  route: Route | undefined;
  /** Set with the response. */
  status: number | undefined;
  /** Headers of every response to this request: name, value, name, value, … */
  readonly headers: string[];
};

/** Creates the server's request listener. It never throws or rejects. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: holds the short steps of a request, in their order
export function createRequestListener(
  options: RequestListenerOptions,
): (req: IncomingMessage, res: ServerResponse) => void {
  const {
    clientIp,
    cors,
    load,
    rateLimits,
    bodyLimits,
    logger,
    meter,
    abandonsReads,
    isDraining,
    isSurplus,
  } = options;
  const match = createMatcher(options.routes);

  return (req, res) => {
    const exchange: Exchange = {
      req,
      res,
      requestId: randomUUID(),
      ip: clientIp(req.socket.remoteAddress, req.headers),
      startedAt: performance.now(),
      route: undefined,
      status: undefined,
      headers: [],
    };
    void inExchangeSpan(exchange, () => serve(exchange));
  };

  async function serve(exchange: Exchange): Promise<void> {
    try {
      finish(exchange, await respond(exchange));
    } catch (failure) {
      fail(exchange, failure);
    }
  }

  async function respond(exchange: Exchange): Promise<RouteResponse> {
    const { req, requestId } = exchange;
    if (isSurplus(req.socket)) throw tooManyConnections();
    const ambiguity = findSmugglingSign(req);
    if (ambiguity !== undefined) throw new Problem('invalid_request', ambiguity, { closes: true });
    const target = parseTarget(req.url ?? '');
    const found = match(target.segments);
    if (found === undefined) throw new Problem('not_found', 'There is nothing at this path.');
    const { route, params } = found;
    exchange.route = route;
    if (cors !== undefined) {
      exchange.headers.push(...cors.headers(route, req.headers));
      const preflight = cors.preflight(route, req.method, req.headers);
      if (preflight !== undefined) return preflight;
    }
    checkMethod(route, req.method);
    const client = clientKey(exchange.ip);
    if (route.limited) await checkRate(exchange, route.rate ?? 'license', client);
    const call: Call = {
      method: req.method ?? '',
      param: params[0] ?? '',
      params,
      query: target.query,
      body: route.method === 'POST' ? await readBody(exchange, readJsonBody) : NO_BODY,
      readForm: () => readBody(exchange, readFormBody),
      readRawJson: () => readBody(exchange, readRawJsonBody),
      headers: req.headers,
      requestId,
      client,
      signal: abandonsReads && route.method === 'GET' ? signalOf(exchange.res) : undefined,
    };
    return await handle(route, call);
  }

  async function checkRate(exchange: Exchange, rate: RateName, client: string): Promise<void> {
    if (rateLimits === undefined) return;
    const verdict = rateLimits[rate](client);
    const { headers, refusal } = verdict instanceof Promise ? await verdict : verdict;
    exchange.headers.push(...headers);
    if (refusal !== undefined) throw refusal;
  }

  /** Sheds only rate-limited routes: health must stay visible, and the core sheds callbacks it cannot journal. */
  async function handle(route: Route, call: Call): Promise<RouteResponse> {
    if (!route.limited) return await route.handle(call);
    load.enter();
    try {
      return await route.handle(call);
    } finally {
      load.leave();
    }
  }

  function readBody<T>({ req, res }: Exchange, read: BodyReader<T>): Promise<T> {
    return read(req, bodyLimits, () => {
      if (req.headers.expect?.toLowerCase() === '100-continue') res.writeContinue();
    });
  }

  function finish(exchange: Exchange, response: RouteResponse, failure?: Problem): void {
    const { req, res, requestId, headers, route } = exchange;
    const status = req.socket.destroyed ? CLIENT_GONE : response.status;
    if (!req.socket.destroyed) {
      sendResponse(res, response, {
        requestId,
        headers,
        close: failure?.closes === true || isDraining(),
        maxRestBytes: bodyLimits.maxBytes,
      });
    }
    const line = measured(exchange, status);
    if (status < 500) logger[route?.isProbe ? 'debug' : 'info'](line, 'request');
    else if (status === UNAVAILABLE) logger.warn({ ...line, reason: reasonOf(failure) }, 'request');
    else logger.error({ ...line, err: failure?.cause }, 'request');
  }

  function fail(exchange: Exchange, failure: unknown): void {
    const { req, route, requestId } = exchange;
    if (failure instanceof ClientGone || req.socket.destroyed) {
      logger.info(measured(exchange, CLIENT_GONE), 'request');
      return;
    }
    const problem = toProblem(failure, route && { rpc: rpcOf(route.about), fieldNames: route.fieldNames });
    load.note(problem);
    meter.problem(problem.code);
    const render = route?.isPage ? problemPage : problemResponse;
    finish(exchange, render(problem, requestId), problem);
  }

  /** Counts the request and returns its log line. */
  function measured(exchange: Exchange, status: number): object {
    const { req, requestId, ip, route, startedAt } = exchange;
    exchange.status = status;
    const ms = performance.now() - startedAt;
    meter.responded(route, status, ms / 1_000);
    // Log the pattern: paths and queries contain ids and fingerprints.
    const rounded = Math.round(ms * 1_000) / 1_000;
    return { requestId, method: req.method, route: route?.pattern ?? null, status, ms: rounded, ip };
  }
}

type BodyReader<T> = (req: IncomingMessage, limits: BodyLimits, invite: () => void) => Promise<T>;

const NO_BODY: JsonMembers = {};

/** Logged only: the client disconnected before the response (nginx's code). */
const CLIENT_GONE = 499;

/** Logged without a stack: it is not a defect, and may be frequent under load. */
const UNAVAILABLE = 503;

function reasonOf(problem: Problem | undefined): string | undefined {
  return problem?.cause instanceof Error ? problem.cause.message : problem?.message;
}

function checkMethod({ method }: Route, requested: string | undefined): void {
  if (method === 'any' || requested === method || (requested === 'HEAD' && method === 'GET')) return;
  const allow = method === 'GET' ? 'GET, HEAD' : method;
  throw new Problem('method_not_allowed', `Use ${allow} here.`, { headers: ['Allow', allow] });
}

function signalOf(res: ServerResponse): AbortSignal {
  const controller = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) controller.abort();
  });
  return controller.signal;
}
