// What a route is, and how a request target finds its route.
import type { JsonMembers } from './body.ts';
import { decodePair, type FormFields } from './form.ts';
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
  readonly ifNoneMatch: string | undefined;
  readonly requestId: string;
  /** Aborted when the client leaves. Given on GET routes only: what changes something is carried through. */
  readonly signal: AbortSignal | undefined;
};

export type Answer = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  /** Headers besides the usual ones: name, value, name, value, … */
  readonly headers?: readonly string[];
  /** The default is `no-store`. */
  readonly cacheControl?: string;
};

export type Route = {
  /** GET answers HEAD, too. `any`: the handler refuses what it does not take. */
  readonly method: 'GET' | 'POST' | 'any';
  /** The path, with at most one `{name}` in place of a segment. */
  readonly pattern: string;
  /** Whether its requests count towards the rate limit. */
  readonly limited: boolean;
  /** What the request calls the fields of the RPC, where names differ. */
  readonly fieldNames?: FieldNames;
  readonly handle: (call: Call) => Answer | Promise<Answer>;
};

export type Target = { readonly segments: readonly string[]; readonly query: string };

/**
 * Splits a request target (RFC 9112 section 3.2, origin or absolute form) and decodes each path segment once; an
 * encoded slash stays inside its segment.
 *
 * @throws Problem invalid_request if it has a broken percent escape, or bytes that are not UTF-8 or not ASCII
 */
export function parseTarget(text: string): Target {
  const origin = text.startsWith('/') ? text : originForm(text);
  if (NOT_ASCII.test(origin)) {
    throw new Problem('invalid_request', 'Percent-encode what is not ASCII in the path and the query.');
  }
  const escaped = origin.includes('%');
  if (escaped) checkEscapes(origin);
  const mark = origin.indexOf('?');
  const segments = (mark === -1 ? origin : origin.slice(0, mark)).slice(1).split('/');
  return {
    segments: escaped ? segments.map(decodeURIComponent) : segments,
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

const NOT_ASCII = /[^\x21-\x7e]/;

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

/** The segment that stands for the pattern's `{…}`, '' if it has none, undefined if the path is another one. */
function matchParts(parts: readonly string[], path: readonly string[]): string | undefined {
  let param = '';
  for (const [at, part] of parts.entries()) {
    const segment = path[at] ?? '';
    if (part.startsWith('{') && segment !== '') param = segment;
    else if (part !== segment) return undefined;
  }
  return param;
}
