// The life of one request: route, limit, read, handle, answer, log.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { problemAnswer, sendAnswer } from './answer.ts';
import { type BodyLimits, ClientGone, type JsonMembers, readFormBody, readJsonBody } from './body.ts';
import type { ClientIp } from './client-ip.ts';
import { PROBLEMS, Problem } from './problem.ts';
import type { RateLimit } from './rate-limit.ts';
import { type Answer, createMatcher, parseTarget, type Route } from './routes.ts';
import { toProblem } from './rpc-problem.ts';

export type RequestListenerOptions = {
  routes: readonly Route[];
  clientIp: ClientIp;
  rateLimit: RateLimit | undefined;
  bodyLimits: BodyLimits;
  logger: Logger;
  /** Whether answers tell the client not to come back on this connection. */
  isDraining: () => boolean;
};

type Exchange = {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly requestId: string;
  readonly ip: string;
  readonly startedAt: number;
  route: Route | undefined;
  rateHeaders: readonly string[];
};

/** Makes the listener for a server's requests. It answers every request it is given, and never throws or rejects. */
export function createRequestListener(
  options: RequestListenerOptions,
): (req: IncomingMessage, res: ServerResponse) => void {
  const { clientIp, rateLimit, bodyLimits, logger, isDraining } = options;
  const match = createMatcher(options.routes);

  return (req, res) => {
    const exchange: Exchange = {
      req,
      res,
      requestId: randomUUID(),
      ip: clientIp(req.socket.remoteAddress, req.headers),
      startedAt: performance.now(),
      route: undefined,
      rateHeaders: [],
    };
    respond(exchange)
      .then((answer) => finish(exchange, answer))
      .catch((failure: unknown) => fail(exchange, failure));
  };

  async function respond(exchange: Exchange): Promise<Answer> {
    const { req, requestId } = exchange;
    if (req.headers.host === undefined && req.httpVersion === '1.1') {
      throw new Problem('invalid_request', 'The request needs a Host header.');
    }
    if (isAmbiguous(req)) {
      throw new Problem('invalid_request', 'Host may be given once, and Transfer-Encoding only as chunked.', {
        closes: true,
      });
    }
    const target = parseTarget(req.url ?? '');
    const found = match(target.segments);
    if (found === undefined) throw new Problem('not_found', 'There is nothing at this path.');
    const { route, param } = found;
    exchange.route = route;
    checkMethod(route, req.method);
    if (route.limited && rateLimit !== undefined) {
      const { headers, refusal } = await rateLimit(exchange.ip);
      exchange.rateHeaders = headers;
      if (refusal !== undefined) throw refusal;
    }
    return await route.handle({
      method: req.method ?? '',
      param,
      query: target.query,
      body: route.method === 'POST' ? await readBody(exchange, readJsonBody) : NO_BODY,
      readForm: () => readBody(exchange, readFormBody),
      ifNoneMatch: req.headers['if-none-match'],
      requestId,
      signal: route.method === 'GET' ? signalOf(exchange.res) : undefined,
    });
  }

  function readBody<T>({ req, res }: Exchange, read: BodyReader<T>): Promise<T> {
    return read(req, bodyLimits, () => {
      if (req.headers.expect?.toLowerCase() === '100-continue') res.writeContinue();
    });
  }

  function finish(exchange: Exchange, answer: Answer, close = false): void {
    const { req, res, requestId, rateHeaders } = exchange;
    const status = req.socket.destroyed ? CLIENT_GONE : answer.status;
    if (!req.socket.destroyed) {
      sendAnswer(res, answer, {
        requestId,
        headers: rateHeaders,
        close: close || isDraining(),
        maxRestBytes: bodyLimits.maxBytes,
      });
    }
    if (status < 500) logger.info(logLine(exchange, status), 'request');
  }

  function fail(exchange: Exchange, failure: unknown): void {
    const { req, route, requestId } = exchange;
    if (failure instanceof ClientGone || req.socket.destroyed) {
      logger.info(logLine(exchange, CLIENT_GONE), 'request');
      return;
    }
    const problem = toProblem(failure, route?.fieldNames);
    const { status } = PROBLEMS[problem.code];
    if (status >= 500) logger.error({ ...logLine(exchange, status), err: problem.cause }, 'request');
    finish(exchange, problemAnswer(problem, requestId), problem.closes);
  }
}

type BodyReader<T> = (req: IncomingMessage, limits: BodyLimits, invite: () => void) => Promise<T>;

const NO_BODY: JsonMembers = {};

/** Logged, never sent: the client left before its answer (nginx's code for it). */
const CLIENT_GONE = 499;

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

/** The route is the pattern: paths and queries hold ids and fingerprints, and stay out of the log. */
function logLine({ req, requestId, ip, route, startedAt }: Exchange, status: number): object {
  const ms = Math.round((performance.now() - startedAt) * 1000) / 1000;
  return { requestId, method: req.method, route: route?.pattern ?? null, status, ms, ip };
}

/** What two readers of the same bytes may understand differently (RFC 9112 sections 3.2 and 6.1). */
function isAmbiguous({ headers, rawHeaders }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') return true;
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}
