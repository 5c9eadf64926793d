// GET /metrics on the internal port, for Prometheus.
import { Code, ConnectError, type ContextValues, createContextValues } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { expose } from '../../../lib/metrics/exposition.ts';
import type { Family } from '../../../lib/metrics/family.ts';
import { peerKey } from '../../access/caller.ts';
import type { Handler } from '../server/handler.ts';
import { peerOf } from '../server/peer.ts';

export type MetricsEndpointOptions = {
  readonly collect: () => Promise<Family[]>;
  /** @throws ConnectError if the caller may not read the metrics; any other error if the check failed */
  readonly admit: (header: Headers, values: ContextValues) => Promise<void>;
  readonly logger: Logger;
};

type Answer = {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Sends requests for /metrics to `endpoint`, and others to `handler`. */
export function withMetrics(handler: Handler, endpoint: Handler): Handler {
  return (request, response) =>
    (request.url?.split('?', 1)[0] === '/metrics' ? endpoint : handler)(request, response);
}

/** Handles GET and HEAD, whatever the path. */
export function createMetricsEndpoint({ collect, admit, logger }: MetricsEndpointOptions): Handler {
  const read = async (accept: string | undefined): Promise<Answer> => {
    const { text, contentType } = await expose(await collect(), accept);
    return { status: 200, body: text, headers: { 'content-type': contentType } };
  };
  const answer = async (request: Parameters<Handler>[0]): Promise<Answer> => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return { status: 405, body: 'Use GET here.\n', headers: { allow: 'GET, HEAD' } };
    }
    const { authorization, accept } = request.headers;
    try {
      const header = new Headers(authorization === undefined ? {} : { authorization });
      await admit(header, createContextValues().set(peerKey, peerOf(request)));
    } catch (error) {
      return refusal(error);
    }
    return await read(accept);
  };
  return (request, response) => {
    answer(request)
      .catch((error: unknown): Answer => {
        logger.error({ err: error }, 'cannot collect metrics');
        return { status: 500, body: 'cannot collect metrics; see the log of the hub\n' };
      })
      .then(({ status, body, headers }) => {
        response.statusCode = status;
        response.setHeader('content-type', 'text/plain; charset=utf-8');
        response.setHeader('content-length', Buffer.byteLength(body));
        response.setHeader('cache-control', 'no-store');
        for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
        response.end(request.method === 'HEAD' ? '' : body);
      })
      .catch(() => response.destroy()); // the client has disconnected
  };
}

function refusal(error: unknown): Answer {
  const { code, rawMessage, metadata } = ConnectError.from(error, Code.Unavailable);
  const body = `${rawMessage}\n`;
  const retryAfter = metadata.get('retry-after') ?? '5';
  if (code === Code.Unauthenticated) return { status: 401, body, headers: { 'www-authenticate': 'Bearer' } };
  if (code === Code.PermissionDenied) return { status: 403, body };
  if (code === Code.ResourceExhausted) return { status: 429, body, headers: { 'retry-after': retryAfter } };
  return { status: 503, body: 'authorization is unavailable\n', headers: { 'retry-after': retryAfter } };
}
