// What a route is, what its handler gets and returns, and how it reads a query parameter.
import type { IncomingHttpHeaders } from 'node:http';
import { decodePair, type FormFields, type JsonMembers } from '../body/read-body.ts';
import { fieldProblem } from '../problem.ts';
import type { FieldNames } from '../rpc-problem.ts';
import type { About } from './openapi-operation.ts';

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
  /** The client's key, from `clientKey`. */
  readonly client: string;
  /** Options of the RPC that the handler calls. */
  readonly rpc: {
    readonly headers: { readonly 'x-request-id': string };
    /**
     * Aborted when the client disconnects. Only GET routes have it: a write that has begun may be committed
     * already, so it completes, and the client's retry gets its result.
     */
    readonly signal?: AbortSignal;
  };
};

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

/** Sends a browser to another address. `headers`: name, value, name, value, … */
export function seeOther(location: string, headers: readonly string[] = []): RouteResponse {
  return { status: 303, contentType: 'text/plain', body: '', headers: ['Location', location, ...headers] };
}

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
  /** Whether a POST has a form. The form of a limited route is read before the request is in progress. */
  readonly hasForm?: boolean;
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
