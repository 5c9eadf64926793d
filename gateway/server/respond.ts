// Ends an exchange: sends the response so that a client can read it while still sending its request, counts it and
// logs it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import { ClientGone } from '../body/read-body.ts';
import type { LoadShedder } from '../limits/request-limits.ts';
import { problemPage } from '../pages/problem-page.ts';
import { PROBLEM_TYPE, PROBLEMS, type Problem, type ProblemCode, problemBody } from '../problem.ts';
import type { Route, RouteResponse } from '../routes/route.ts';
import { toProblem } from '../rpc-problem.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

export type Exchange = {
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

export type ResponderOptions = {
  shedder: LoadShedder;
  logger: Logger;
  meter: HttpMetrics;
  /** Unread request bytes up to this number are discarded; more close the connection. */
  maxRestBytes: number;
  /** Whether responses close their connection. */
  shutdown: { readonly isDraining: boolean };
};

export function createResponder(options: ResponderOptions) {
  const { shedder, logger, meter, maxRestBytes, shutdown } = options;

  function finish(exchange: Exchange, response: RouteResponse, failure?: Problem): void {
    const { req, route } = exchange;
    const status = req.socket.destroyed ? CLIENT_GONE : response.status;
    if (!req.socket.destroyed) {
      const rest = unreadBytes(req);
      const closes = failure?.closes === true || shutdown.isDraining || rest > maxRestBytes;
      sendResponse(exchange, response, closes, closes && rest > 0);
    }
    const line = measured(exchange, status);
    if (status < 500) logger[route?.isProbe ? 'debug' : 'info'](line, 'request');
    else if (status === UNAVAILABLE) logger.warn({ ...line, reason: reasonOf(failure) }, 'request');
    else logger.error({ ...line, err: failure?.cause }, 'request');
  }

  /** Responds with the problem of an error. */
  function fail(exchange: Exchange, failure: unknown): void {
    const { req, route, requestId } = exchange;
    if (failure instanceof ClientGone || req.socket.destroyed) {
      logger.info(measured(exchange, CLIENT_GONE), 'request');
      return;
    }
    const rpc = route && 'rpc' in route.about ? route.about.rpc : undefined;
    const problem = toProblem(failure, { rpc, fieldNames: route?.fieldNames });
    shedder.recordProblem(problem);
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

  return { finish, fail };
}

/** Logged only: the client disconnected before the response (nginx's code). */
const CLIENT_GONE = 499;

/** Logged without a stack: it is not a defect, and may be frequent under load. */
const UNAVAILABLE = 503;

function reasonOf(problem: Problem | undefined): string | undefined {
  return problem?.cause instanceof Error ? problem.cause.message : problem?.message;
}

/** Sends a response with its length. `lingers`: end it only once the rest of the request has arrived. */
function sendResponse(exchange: Exchange, response: RouteResponse, closes: boolean, lingers: boolean): void {
  const { res, requestId } = exchange;
  const headers = [
    'Content-Type',
    response.contentType,
    'Cache-Control',
    response.cacheControl ?? 'no-store',
    ...(response.securityHeaders ?? SECURITY_HEADERS),
    'X-Request-Id',
    requestId,
    ...exchange.headers,
  ];
  if (response.status !== 204 && response.status !== 304)
    headers.push('Content-Length', String(Buffer.byteLength(response.body)));
  if (response.headers !== undefined) headers.push(...response.headers);
  if (closes) headers.push('Connection', 'close');
  res.writeHead(response.status, headers);
  if (lingers) lingerAndEnd(res, response.body);
  else res.end(response.body);
}

function problemResponse(problem: Problem, requestId: string): RouteResponse {
  return {
    status: PROBLEMS[problem.code].status,
    contentType: PROBLEM_TYPE,
    body: problemBody(problem, requestId),
    headers: problem.headers,
  };
}

const LINGER_MS = 5_000;
const LINGER_BYTES = 16 * 1024 * 1024;

/**
 * Sends the body, but ends the response only after the rest of the request has arrived or exceeds a limit.
 * Closing a socket with unread bytes resets it, and the client would lose the response (RFC 9112 section
 * 9.6).
 */
function lingerAndEnd(res: ServerResponse, body: RouteResponse['body']): void {
  const { req } = res;
  let left = LINGER_BYTES;
  const end = (): void => {
    clearTimeout(timer);
    req.off('data', discard);
    res.end();
  };
  const discard = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left < 0) end();
  };
  const timer = setTimeout(end, LINGER_MS);
  res.flushHeaders();
  // Half-close, so that a client that reads until the end of the stream does not wait.
  res.write(body, () => res.socket?.end());
  req.on('data', discard).once('end', end).once('close', end).resume();
}

/** Upper bound of the request body that is still to come; Infinity if its length is unknown. */
function unreadBytes(req: IncomingMessage): number {
  if (req.complete) return 0;
  if (req.headers['transfer-encoding'] !== undefined) return Infinity;
  return Number(req.headers['content-length'] ?? 0);
}

export type HttpMetrics = ReturnType<typeof createHttpMetrics>;

/** The label of requests without a route: their paths are arbitrary, and labels must stay few. */
const NO_ROUTE = 'none';
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createHttpMetrics(metrics: Metrics) {
  const requests = metrics.counter({
    name: 'hub_http_requests_total',
    help: 'Requests to the public gateway by route and status; 499: the client disconnected before the response.',
    labelNames: ['route', 'status'],
  });
  const durations = metrics.histogram({
    name: 'hub_http_request_duration_seconds',
    help: 'Time from the headers of a request to the public gateway until its response is written to the socket.',
    labelNames: ['route'],
    buckets: DURATION_BUCKETS,
  });
  const problems = metrics.counter({
    name: 'hub_http_problems_total',
    help: 'Error answers of the public gateway by their code: docs/rest.md lists them.',
    labelNames: ['code'],
  });
  for (const code in PROBLEMS) problems.inc({ code }, 0);

  return {
    /** Counts a response. `route` is undefined if no route matched; `status` is 499 if the client disconnected. */
    responded(route: Route | undefined, status: number, seconds: number): void {
      const name = route?.countedAs ?? route?.pattern ?? NO_ROUTE;
      requests.inc({ route: name, status });
      durations.observe({ route: name }, seconds);
    },
    /** Counts bytes that could not be parsed as a request. */
    refused: (status: number): void => requests.inc({ route: NO_ROUTE, status }),
    problem: (code: ProblemCode): void => problems.inc({ code }),
  };
}
