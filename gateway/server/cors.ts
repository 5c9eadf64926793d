// Cross-origin requests of browsers (Fetch standard, section 3.3), allowed for listed origins only.
import type { IncomingHttpHeaders } from 'node:http';
import type { Route, RouteResponse } from '../routes/route.ts';

export type Cors = {
  /** Headers of every response of a route (name, value, …), which permit listed origins to read it. */
  headers(route: Route, requested: IncomingHttpHeaders): readonly string[];
  /** The response to a preflight of a listed origin; undefined for any other request. */
  preflight(
    route: Route,
    method: string | undefined,
    requested: IncomingHttpHeaders,
  ): RouteResponse | undefined;
};

/** Applies to routes with `crossOrigin`: browsers do not call webhooks and health probes. */
export function createCors(origins: readonly string[]): Cors {
  const listed = new Set(origins);
  const isListed = (origin: string | undefined): origin is string =>
    origin !== undefined && listed.has(origin);
  return {
    headers({ crossOrigin = false }, { origin }) {
      if (!crossOrigin) return [];
      // Prevents caches from serving the response for one origin to another.
      const vary = ['Vary', 'Origin'];
      return isListed(origin) ? [...vary, 'Access-Control-Allow-Origin', origin, ...EXPOSE] : vary;
    },

    preflight({ crossOrigin = false, method }, requestedMethod, requested) {
      const preflightMethod = requested['access-control-request-method'];
      if (!crossOrigin || requestedMethod !== 'OPTIONS' || preflightMethod === undefined) return undefined;
      if (!isListed(requested.origin)) return undefined;
      return {
        status: 204,
        contentType: 'text/plain',
        body: '',
        headers: [
          ...['Access-Control-Allow-Methods', method === 'GET' ? 'GET, HEAD' : method],
          ...['Access-Control-Allow-Headers', 'Authorization, Content-Type, If-None-Match'],
          ...['Access-Control-Max-Age', '600'],
        ],
      };
    },
  };
}

/**
 * Parses origins separated by commas or white space, written as browsers send them: scheme, host and port
 * only.
 * @throws Error that lists every wrong item
 */
export function parseOrigins(text: string): string[] {
  const items = text.split(/[\s,]+/).filter((item) => item !== '');
  const wrong = items.filter((item) => URL.parse(item)?.origin !== item || !/^https?:/.test(item));
  if (wrong.length === 0) return items;
  const named = wrong.map((item) => JSON.stringify(item)).join(', ');
  throw new Error(
    `${named}: write an origin as browsers send it, such as https://app.example.com or http://localhost:3000`,
  );
}

const EXPOSE = [
  'Access-Control-Expose-Headers',
  'ETag, RateLimit, RateLimit-Policy, Retry-After, X-Request-Id',
];
