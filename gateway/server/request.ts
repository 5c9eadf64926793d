// Serves one request: admits it, finds its route, checks limits, reads the body, calls the handler, responds.
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestCap, SlowClientWatchdog } from '../../lib/net/client-limits.ts';
import { type ClientIp, clientKey, findSmugglingSign } from '../../lib/net/proxies.ts';
import { inExchangeSpan } from '../../lib/tracing/spans.ts';
import {
  type BodyLimits,
  type IncomingBody,
  type JsonMembers,
  readFormBody,
  readJsonBody,
  readRawJsonBody,
} from '../body/read-body.ts';
import type { LoadShedder, RateLimits } from '../limits/request-limits.ts';
import { Problem } from '../problem.ts';
import type { Call, RateName, Route, RouteResponse } from '../routes/route.ts';
import { tooManyConnections } from '../rpc-problem.ts';
import type { Cors } from './cors.ts';
import { createResponder, type Exchange, type ResponderOptions } from './respond.ts';

export type RequestListenerOptions = Omit<ResponderOptions, 'maxRestBytes'> & {
  routes: readonly Route[];
  mayServe: RequestCap;
  watchdog: SlowClientWatchdog<ServerResponse>;
  clientIp: ClientIp;
  /** Undefined if no origin is listed. */
  cors: Cors | undefined;
  shedder: LoadShedder;
  rateLimits: RateLimits | undefined;
  bodyLimits: BodyLimits;
  /** See `GatewayOptions`. */
  abandonsReads: boolean;
  /** The connections that exceed the cap of their client. */
  surplus: { has(socket: Socket): boolean };
};

/** Creates the server's request listener. It never throws or rejects. */
export function createRequestListener(
  options: RequestListenerOptions,
): (req: IncomingMessage, res: ServerResponse) => void {
  const { mayServe, watchdog, clientIp, cors, shedder, rateLimits, bodyLimits, abandonsReads, surplus } =
    options;
  const match = createMatcher(options.routes);
  const { finish, fail } = createResponder({ ...options, maxRestBytes: bodyLimits.maxBytes });

  return (req, res) => {
    if (!mayServe(req, res)) return;
    watchdog.begin(req, res);
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
    const { req } = exchange;
    if (surplus.has(req.socket)) throw tooManyConnections();
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
    // Reads a form before the request counts as in progress, so that a slow client takes no place. The handler
    // gets the error.
    const readsFormFirst = route.hasForm && route.limited && req.method === 'POST';
    const form = readsFormFirst ? readBody(exchange, readFormBody) : undefined;
    await form?.catch(() => undefined);
    return await handle(route, {
      method: req.method ?? '',
      param: params[0] ?? '',
      params,
      query: target.query,
      body: route.method === 'POST' ? await readBody(exchange, readJsonBody) : NO_BODY,
      readForm: () => form ?? readBody(exchange, readFormBody),
      readRawJson: () => readBody(exchange, readRawJsonBody),
      headers: req.headers,
      client,
      rpc: {
        headers: { 'x-request-id': exchange.requestId },
        ...(abandonsReads && route.method === 'GET' && { signal: signalOf(exchange.res) }),
      },
    });
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
    shedder.enter();
    try {
      return await route.handle(call);
    } finally {
      shedder.leave();
    }
  }

  function readBody<T>({ req, res }: Exchange, read: (body: IncomingBody) => Promise<T>): Promise<T> {
    const sendContinue = (): void => {
      if (req.headers.expect?.toLowerCase() === '100-continue') res.writeContinue();
    };
    return read({ req, limits: bodyLimits, sendContinue });
  }
}

const NO_BODY: JsonMembers = {};

export type Target = { readonly segments: readonly string[]; readonly query: string };

/**
 * Splits a request target in origin or absolute form (RFC 9112 section 3.2). Segments stay encoded, so that a
 * proxy and the hub read the same path.
 * @throws Problem invalid_request for a broken percent escape, invalid UTF-8 or characters beyond ASCII
 */
export function parseTarget(text: string): Target {
  const origin = text.startsWith('/') ? text : originForm(text);
  if (NOT_A_TARGET.test(origin)) {
    throw new Problem(
      'invalid_request',
      'Percent-encode "#" and all characters beyond ASCII in the path and the query.',
    );
  }
  if (origin.includes('%')) checkEscapes(origin);
  const mark = origin.indexOf('?');
  const segments = (mark === -1 ? origin : origin.slice(0, mark)).slice(1).split('/');
  return { segments, query: mark === -1 ? '' : origin.slice(mark + 1) };
}

export type RouteMatch = { readonly route: Route; readonly params: readonly string[] };

export function createMatcher(routes: readonly Route[]): (path: readonly string[]) => RouteMatch | undefined {
  const table = routes.map((route) => ({ route, parts: route.pattern.slice(1).split('/') }));
  return (path) => {
    for (const { route, parts } of table) {
      const params = parts.length === path.length ? matchParts(parts, path) : undefined;
      if (params !== undefined) return { route, params };
    }
    return undefined;
  };
}

/** Anything but printable ASCII. Clients do not send fragments (RFC 9112 section 3.2). */
const NOT_A_TARGET = /[^\x21-\x7e]|#/;

function originForm(text: string): string {
  const scheme = text.indexOf('://');
  const slash = scheme === -1 ? -1 : text.indexOf('/', scheme + 3);
  return slash === -1 ? '/' : text.slice(slash);
}

function checkEscapes(text: string): void {
  try {
    decodeURIComponent(text);
  } catch {
    throw new Problem(
      'invalid_request',
      'The path or the query has a percent escape that is broken or not UTF-8.',
    );
  }
}

/**
 * Returns the segments at the pattern's `{…}`, decoded once so that an encoded slash stays inside them;
 * undefined if the path does not match.
 */
function matchParts(parts: readonly string[], path: readonly string[]): readonly string[] | undefined {
  const params: string[] = [];
  for (let at = 0; at < parts.length; at++) {
    const [part, segment] = [parts[at] ?? '', path[at] ?? ''];
    if (part.startsWith('{') && segment !== '') params.push(decodeURIComponent(segment));
    else if (part !== segment) return undefined;
  }
  return params;
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
