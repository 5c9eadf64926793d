// Sends requests to one slot's provider.
//
// Each slot has its own connections, with limits on time and size, no redirects and no secrets in errors.
import { SpanKind } from '@opentelemetry/api';
import type { Pool } from 'undici';
import { withDeadline } from '../../../lib/net/deadline.ts';
import { failureReason } from '../../../lib/net/failure-reason.ts';
import { failSpan, inSpan } from '../../../lib/tracing/spans.ts';
import { HubError } from '../../errors.ts';
import type { Environment } from '../entities.ts';
import { type ProviderHttp, ProviderUnavailable } from './driver.ts';

export type ProviderHttpOptions = {
  /** The slot's base URL: `http:` or `https:`, without credentials and query. */
  readonly baseUrl: string;
  readonly environment: Environment;
  /** The driver's. In production the base URL has to be on one of their hosts, over TLS. */
  readonly productionUrls: readonly string[];
  /** The maximum of milliseconds for an exchange, whatever the request says. Default: 30 000. */
  readonly timeoutMs?: number;
  /** Aborts all exchanges. */
  readonly signal?: AbortSignal;
};

export type ClosableProviderHttp = ProviderHttp & {
  /** Waits for the exchanges in progress and accepts no new ones. */
  close(): Promise<void>;
};

const TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_CONNECTIONS = 64;
const REASONS = { UND_ERR_RES_EXCEEDED_MAX_SIZE: 'its response is larger than 1 MiB' };

/** @throws HubError `base_url_invalid` for a production slot whose base URL is not the provider's */
export function createProviderHttp(options: ProviderHttpOptions): ClosableProviderHttp {
  const base = new URL(options.baseUrl);
  if (options.environment === 'production') requireProductionHost(base, options.productionUrls);
  const { timeoutMs: longestMs = TIMEOUT_MS, signal: ending } = options;
  const folder = base.pathname.replace(/\/*$/, '/');
  let pool: Promise<Pool> | undefined;
  const openPool = async (): Promise<Pool> => {
    const undici = await import('undici'); // several MB that many hubs never need
    return new undici.Pool(base.origin, {
      connections: MAX_CONNECTIONS,
      // Explicit, because an environment variable could turn it off.
      connect: { timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true },
      allowH2: false,
      maxResponseSize: MAX_ANSWER_BYTES,
      // The signal of each exchange limits its total time, which these per-read timeouts do not.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  };

  const http: ClosableProviderHttp = {
    async send({ method, url, headers = {}, body, timeoutMs = longestMs }) {
      const limitMs = Math.min(timeoutMs, longestMs);
      const target = URL.parse(url);
      if (target?.origin !== base.origin || !target.pathname.startsWith(folder)) {
        throw new ProviderUnavailable(`the request address is not below ${base.host}${folder}`);
      }
      try {
        return await withDeadline(limitMs, ending, async (signal) => {
          pool ??= openPool();
          const answer = await (await pool).request({
            method,
            path: target.pathname + target.search,
            headers: { 'user-agent': 'hubctl', ...headers },
            body: body ?? null,
            signal,
          });
          if (answer.statusCode >= 300 && answer.statusCode < 400) {
            answer.body.on('error', () => {}).destroy(); // the body is not needed
            throw new ProviderUnavailable(`${base.host} redirects (HTTP ${answer.statusCode})`);
          }
          return { status: answer.statusCode, body: await answer.body.text() };
        });
      } catch (error) {
        if (error instanceof ProviderUnavailable) throw error;
        // Without the cause, which may contain the query and headers of the request.
        throw new ProviderUnavailable(
          `no answer from ${base.host}: ${failureReason(error, limitMs, REASONS)}`,
        );
      }
    },
    close: async () => (await pool)?.close(),
  };
  const send: ProviderHttp['send'] = (request) => {
    // Neither the path nor the query, which may hold credentials. No trace context is sent to providers.
    const attributes = { 'http.request.method': request.method, 'server.address': base.hostname };
    return inSpan(request.method, { kind: SpanKind.CLIENT, attributes }, async (span) => {
      const response = await http.send(request);
      span.setAttribute('http.response.status_code', response.status);
      if (response.status >= 400) failSpan(span, String(response.status));
      return response;
    });
  };
  return { ...http, send };
}

function requireProductionHost(base: URL, productionUrls: readonly string[]): void {
  const origins = productionUrls.map((url) => new URL(url).origin);
  if (base.protocol === 'https:' && origins.includes(base.origin)) return;
  throw new HubError('base_url_invalid', `a production slot must be on ${origins.join(' or ')}`, {
    field: 'baseUrl',
  });
}
