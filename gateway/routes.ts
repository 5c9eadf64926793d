// What a route is, and how a request target finds its route.
import type { IncomingHttpHeaders } from 'node:http';
import type { JsonMembers } from './body.ts';
import { decodePair, type FormFields } from './form.ts';
import type { About } from './operation.ts';
import { fieldProblem, Problem } from './problem.ts';
import type { FieldNames } from './rpc-problem.ts';

/** What a handler is given of a request. */
export type Call = {
  readonly method: string;
  /** The decoded path segment at the `{…}` of the pattern, '' if it has none. */
  readonly param: string;
  /** The query as sent, without the question mark. */
  readonly query: string;
  /** The members of the JSON body of a POST route, else empty. */
  readonly body: JsonMembers;
  /** Reads the body as a form, for a route that takes any method. Throws a Problem, as the JSON body does. */
  readonly readForm: () => Promise<FormFields>;
  readonly headers: IncomingHttpHeaders;
  readonly requestId: string;
  /** Who calls, as `clientKey` names it. */
  readonly client: string;
  /** Aborted when the client leaves. Given on GET routes at most: what changes something is carried through. */
  readonly signal: AbortSignal | undefined;
};

export type Answer = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Buffer;
  /** Headers besides the usual ones: name, value, name, value, … */
  readonly headers?: readonly string[];
  /** In place of SECURITY_HEADERS, where a browser is to make more of it than data. */
  readonly securityHeaders?: readonly string[];
  /** The default is `no-store`. */
  readonly cacheControl?: string;
};

export type Route = {
  /** GET answers HEAD, too. `any`: the handler refuses what it does not take. */
  readonly method: 'GET' | 'POST' | 'any';
  /** The path, with at most one `{name}` in place of a segment. */
  readonly pattern: string;
  /** Its name in the metrics, where the pattern changes from version to version; the pattern if not given. */
  readonly countedAs?: string;
  /** Whether its requests count towards the rate limit. */
  readonly limited: boolean;
  /** Asked every few seconds by a load balancer: not worth a line of the log. */
  readonly isProbe?: boolean;
  /** Whether browsers of the listed origins may call it; false if not given. */
  readonly crossOrigin?: boolean;
  /** What the request calls the fields of the RPC, where names differ. */
  readonly fieldNames?: FieldNames;
  /** What the OpenAPI document says of it. */
  readonly about: About;
  readonly handle: (call: Call) => Answer | Promise<Answer>;
};

export type Target = { readonly segments: readonly string[]; readonly query: string };

/**
 * Splits a request target (RFC 9112 section 3.2, origin or absolute form). The segments stay encoded: a path is what
 * it says, so that a proxy in front and the hub cannot take it for two different ones.
 *
 * @throws Problem invalid_request if it has a broken percent escape, or bytes that are not UTF-8 or not ASCII
 */
export function parseTarget(text: string): Target {
  const origin = text.startsWith('/') ? text : originForm(text);
  if (NOT_A_TARGET.test(origin)) {
    throw new Problem(
      'invalid_request',
      'Percent-encode what is not ASCII, and "#", in the path and the query.',
    );
  }
  if (origin.includes('%')) checkEscapes(origin);
  const mark = origin.indexOf('?');
  const segments = (mark === -1 ? origin : origin.slice(0, mark)).slice(1).split('/');
  return {
    segments,
    query: mark === -1 ? '' : origin.slice(mark + 1),
  };
}

export type RouteMatch = { readonly route: Route; readonly param: string };

/** Makes the function that finds the route of a path. */
export function createMatcher(routes: readonly Route[]): (path: readonly string[]) => RouteMatch | undefined {
  const table = routes.map((route) => ({ route, parts: route.pattern.slice(1).split('/') }));
  return (path) => {
    for (const { route, parts } of table) {
      const param = parts.length === path.length ? matchParts(parts, path) : undefined;
      if (param !== undefined) return { route, param };
    }
    return undefined;
  };
}

/**
 * The one value of a query parameter, undefined if it is not given. Other parameters are ignored.
 *
 * @throws Problem invalid_request if it is given twice or as an array, which some servers read differently
 */
export function queryParameter(query: string, name: string): string | undefined {
  if (query === '') return undefined;
  let value: string | undefined;
  for (const pair of query.split('&')) {
    const given = decodePair(pair);
    if (given.name === name && value === undefined) value = given.value;
    else if (given.name === name || given.name.startsWith(`${name}[`)) {
      throw fieldProblem(name, `give it once, as ${name}=…`);
    }
  }
  return value;
}

/** Anything but printable ASCII; a fragment is never sent (RFC 9112 section 3.2). */
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
 * The segment that stands for the pattern's `{…}`, decoded once so that an encoded slash stays inside it; '' if the
 * pattern has none, undefined if the path is another one.
 */
function matchParts(parts: readonly string[], path: readonly string[]): string | undefined {
  let param = '';
  for (let at = 0; at < parts.length; at++) {
    const [part, segment] = [parts[at] ?? '', path[at] ?? ''];
    if (part.startsWith('{') && segment !== '') param = decodeURIComponent(segment);
    else if (part !== segment) return undefined;
  }
  return param;
}
