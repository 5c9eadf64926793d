// Defines routes, and finds the route of a request target.
import type { IncomingHttpHeaders } from 'node:http';
import { decodePair, type FormFields } from '../body/form.ts';
import type { JsonMembers } from '../body/read-body.ts';
import { fieldProblem, Problem } from '../problem.ts';
import type { FieldNames } from '../rpc-problem.ts';
import type { About } from './operation.ts';

/** The request as a handler sees it. */
export type Call = {
  readonly method: string;
  /** The decoded path segment at the first `{…}` of the pattern; '' if the pattern has none. */
  readonly param: string;
  /** The decoded path segments at all `{…}` of the pattern. */
  readonly params: readonly string[];
  /** The query as sent, without the question mark. */
  readonly query: string;
  /** Members of the JSON body of a POST route; otherwise empty. */
  readonly body: JsonMembers;
  /** Reads the body as a form, for a route with method `any`. Throws the same Problems as the JSON body. */
  readonly readForm: () => Promise<FormFields>;
  /** Reads the bytes of a JSON body, for a route with method `any`. Throws the same Problems. */
  readonly readRawJson: () => Promise<Buffer>;
  readonly headers: IncomingHttpHeaders;
  readonly requestId: string;
  /** The client's key, from `clientKey`. */
  readonly client: string;
  /**
   * Aborted when the client disconnects. Only GET routes have it: a write that has begun may be committed
   * already, so it completes, and the client's retry gets its result.
   */
  readonly signal: AbortSignal | undefined;
};

/** Options of the RPC that a handler calls. An RPC that only reads ends when the client disconnects. */
export function rpcOptions({ requestId, signal }: Call): {
  readonly headers: { readonly 'x-request-id': string };
  readonly signal?: AbortSignal;
} {
  return { headers: { 'x-request-id': requestId }, ...(signal && { signal }) };
}

export type RouteResponse = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
  /** Additional headers: name, value, name, value, … */
  readonly headers?: readonly string[];
  /** Replaces SECURITY_HEADERS, for pages that a browser shows. */
  readonly securityHeaders?: readonly string[];
  /** Default: `no-store`. */
  readonly cacheControl?: string;
};

/** The requests of a client are counted by this name. */
export type RateName = 'license' | 'order';

export type Route = {
  /** GET includes HEAD. `any`: the handler checks the method. */
  readonly method: 'GET' | 'POST' | 'any';
  /** The path, with `{name}` in place of segments. */
  readonly pattern: string;
  /** Name in the metrics, for a pattern that differs between versions. Default: the pattern. */
  readonly countedAs?: string;
  /** Whether requests count towards the rate limit. */
  readonly limited: boolean;
  /** The rate limit of a limited route. Default: `license`. */
  readonly rate?: RateName;
  /** Whether the browsers of customers show it: problems are pages then. */
  readonly isPage?: boolean;
  /** A load balancer's probe: not logged. */
  readonly isProbe?: boolean;
  /** Whether browsers of the listed origins may call it. Default: false. */
  readonly crossOrigin?: boolean;
  /** REST names of the RPC's fields, where they differ. */
  readonly fieldNames?: FieldNames;
  /** Description in the OpenAPI document. */
  readonly about: About;
  readonly handle: (call: Call) => RouteResponse | Promise<RouteResponse>;
};

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

/** Creates the function that finds the route of a path. */
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

/**
 * Returns the value of a query parameter; undefined if absent. Other parameters are ignored.
 * @throws Problem invalid_request if the parameter is repeated or an array: servers read those differently
 */
export function queryParameter(query: string, name: string): string | undefined {
  if (query === '') return undefined;
  let value: string | undefined;
  for (const pair of query.split('&')) {
    const given = decodePair(pair);
    if (given.name === name && value === undefined) value = given.value;
    else if (given.name === name || given.name.startsWith(`${name}[`)) {
      throw fieldProblem(name, `must appear only once, as ${name}=…`);
    }
  }
  return value;
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
