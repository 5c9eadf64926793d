// The life of one request: route, limit, read, handle, answer, log, count.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { ambiguityOf } from '../ports/ambiguity.ts';
import { clientKey } from '../ports/client-key.ts';
import { exchanges } from '../tracing/channels.ts';
import { problemAnswer, sendAnswer } from './answer.ts';
import { type BodyLimits, ClientGone, type JsonMembers, readFormBody, readJsonBody } from './body.ts';
import type { ClientIp } from './client-ip.ts';
import type { Cors } from './cors.ts';
import type { HttpMeter } from './http-meter.ts';
import type { Load } from './load.ts';
import { rpcOf } from './operation.ts';
import { Problem } from './problem.ts';
import type { RateLimit } from './rate-limit.ts';
import { type Answer, type Call, createMatcher, parseTarget, type Route } from './routes.ts';
import { tooManyConnections, toProblem } from './rpc-problem.ts';

export type RequestListenerOptions = {
  routes: readonly Route[];
  clientIp: ClientIp;
  cors: Cors;
  load: Load;
  rateLimit: RateLimit | undefined;
  bodyLimits: BodyLimits;
  logger: Logger;
  meter: HttpMeter;
  /** As `GatewayOptions` has it. */
  abandonsReads: boolean;
  /** Whether answers tell the client not to come back on this connection. */
  isDraining: () => boolean;
  /** Whether a connection is one too many of its client. */
  isSurplus: (socket: IncomingMessage['socket']) => boolean;
};

type Exchange = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestId: string;
  readonly ip: string;
  readonly startedAt: number;
  route: Route | undefined;
  /** Once it is answered. */
  status: number | undefined;
  /** Of the answer, whatever it is: name, value, name, value, … */
  readonly headers: string[];
};

/** Makes the listener for a server's requests. It answers every request it is given, and never throws or rejects. */
export function createRequestListener(
  options: RequestListenerOptions,
): (req: IncomingMessage, res: ServerResponse) => void {
  const { clientIp, cors, load, rateLimit, bodyLimits, logger, meter, abandonsReads, isDraining, isSurplus } =
    options;
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
    void exchanges.tracePromise(serve, exchange, undefined, exchange);
  };

  async function serve(exchange: Exchange): Promise<void> {
    try {
      finish(exchange, await respond(exchange));
    } catch (failure) {
      fail(exchange, failure);
    }
  }

  async function respond(exchange: Exchange): Promise<Answer> {
    const { req, requestId } = exchange;
    if (isSurplus(req.socket)) throw tooManyConnections();
    const ambiguity = ambiguityOf(req);
    if (ambiguity !== undefined) throw new Problem('invalid_request', ambiguity, { closes: true });
    const target = parseTarget(req.url ?? '');
    const found = match(target.segments);
    if (found === undefined) throw new Problem('not_found', 'There is nothing at this path.');
    const { route, param } = found;
    exchange.route = route;
    exchange.headers.push(...cors.headers(route, req.headers));
    const preflight = cors.preflight(route, req.method, req.headers);
    if (preflight !== undefined) return preflight;
    checkMethod(route, req.method);
    const client = clientKey(exchange.ip);
    if (route.limited && rateLimit !== undefined) {
      const verdict = rateLimit(client);
      const { headers, refusal } = verdict instanceof Promise ? await verdict : verdict;
      exchange.headers.push(...headers);
      if (refusal !== undefined) throw refusal;
    }
    const call: Call = {
      method: req.method ?? '',
      param,
      query: target.query,
      body: route.method === 'POST' ? await readBody(exchange, readJsonBody) : NO_BODY,
      readForm: () => readBody(exchange, readFormBody),
      headers: req.headers,
      requestId,
      client,
      signal: abandonsReads && route.method === 'GET' ? signalOf(exchange.res) : undefined,
    };
    // Of what is not limited nothing is shed: health has to be told, and the core sheds callbacks it cannot journal.
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

  function finish(exchange: Exchange, answer: Answer, failure?: Problem): void {
    const { req, res, requestId, headers, route } = exchange;
    const status = req.socket.destroyed ? CLIENT_GONE : answer.status;
    if (!req.socket.destroyed) {
      sendAnswer(res, answer, {
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
    finish(exchange, problemAnswer(problem, requestId), problem);
  }

  /** Counts the exchange; what the log says of it. */
  function measured(exchange: Exchange, status: number): object {
    const { req, requestId, ip, route, startedAt } = exchange;
    exchange.status = status;
    const ms = performance.now() - startedAt;
    meter.answered(route, status, ms / 1_000);
    // The route is the pattern: paths and queries hold ids and fingerprints, and stay out of the log.
    const rounded = Math.round(ms * 1_000) / 1_000;
    return { requestId, method: req.method, route: route?.pattern ?? null, status, ms: rounded, ip };
  }
}

type BodyReader<T> = (req: IncomingMessage, limits: BodyLimits, invite: () => void) => Promise<T>;

const NO_BODY: JsonMembers = {};

/** Logged, never sent: the client left before its answer (nginx's code for it). */
const CLIENT_GONE = 499;

/** Logged without a stack: it is no mistake of ours, and there may be many when there is least time for them. */
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
