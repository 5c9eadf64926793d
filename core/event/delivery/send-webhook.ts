// Sends webhooks to untrusted URLs, with limits on time, size and addresses.
import { isIP } from 'node:net';
import type { Readable } from 'node:stream';
import type { Agent, buildConnector } from 'undici';
import { unlessAborted, withDeadline } from '../../../lib/net/deadline.ts';
import { failureReason } from '../../../lib/net/failure-reason.ts';
import { onDemand } from '../../../lib/on-demand.ts';
import { type Clock, DAY_MS, systemClock } from '../../clock.ts';
import { type AddressPolicy, AddressRefused } from './address-policy.ts';

export type Webhook = {
  readonly url: string;
  /** The headers of the signature. The sender adds `user-agent` and `content-type`. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string | Uint8Array;
};

export type SendResult =
  | {
      readonly kind: 'answered';
      /** Any status from 200 to 599; redirects are not followed. */
      readonly status: number;
      /**
       * The first 1000 characters, without NUL, which PostgreSQL cannot store. Shorter if the connection
       * broke.
       */
      readonly body: string;
      /** From the header Retry-After: at most a day. */
      readonly retryAfterMs?: number;
    }
  /** The endpoint sent no status. The problem contains no URL, header or body. */
  | { readonly kind: 'failed'; readonly problem: string }
  /** The policy refuses the URL or an address of its host. Nothing was sent. */
  | { readonly kind: 'refused'; readonly problem: string };

export type WebhookSender = ReturnType<typeof createWebhookSender>;

export type WebhookSenderOptions = {
  readonly policy: AddressPolicy;
  /** Maximum milliseconds for an exchange: name lookup, connection, request and response. Default: 15 000. */
  readonly timeoutMs?: number;
  /** Aborts all exchanges. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
};

const TIMEOUT_MS = 15_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 16 * 1024;
const KEPT_CHARACTERS = 1000;
const REASONS = {
  UND_ERR_HEADERS_OVERFLOW: 'the header of its response is larger than 16 KiB',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not use TLS',
  UND_ERR_CLOSED: 'the hub is stopping',
  UND_ERR_DESTROYED: 'the hub is stopping',
};

export function createWebhookSender(options: WebhookSenderOptions) {
  const { policy, timeoutMs = TIMEOUT_MS, signal: hubSignal, clock = systemClock } = options;
  const agent = onDemand(() => openAgent(policy));
  let closing: Promise<void> | undefined;

  const exchange = async ({ url, headers, body }: Webhook, signal: AbortSignal): Promise<SendResult> => {
    const { origin, pathname, search } = new URL(url);
    const answering = (agent.value ?? (await agent.get())).request({
      origin,
      path: pathname + search,
      method: 'POST',
      headers: { ...headers, 'user-agent': 'hubctl', 'content-type': 'application/json' },
      body,
      signal,
    });
    // An aborted request that waits for a connection rejects only when it gets one. undici does not send it
    // then.
    const answer = await unlessAborted(answering, signal);
    const pause = retryAfterMs([answer.headers['retry-after'] ?? []].flat()[0], clock());
    return {
      kind: 'answered',
      status: answer.statusCode,
      body: await readStart(answer.body),
      ...(pause !== undefined && { retryAfterMs: pause }),
    };
  };

  return {
    /** Sends one request, and never rejects. */
    async send(webhook: Webhook): Promise<SendResult> {
      // The URL was checked when the endpoint was created, but the allowed networks may have changed since.
      const fault = policy.checkUrl(webhook.url);
      if (fault !== undefined) return { kind: 'refused', problem: `the URL ${fault}` };
      const { host } = new URL(webhook.url);
      if (closing !== undefined)
        return { kind: 'failed', problem: `no answer from ${host}: the hub is stopping` };
      try {
        return await withDeadline(timeoutMs, hubSignal, (signal) => exchange(webhook, signal));
      } catch (error) {
        if (error instanceof AddressRefused) return { kind: 'refused', problem: error.message };
        const reason = failureReason(error, timeoutMs, REASONS);
        return { kind: 'failed', problem: `no answer from ${host}: ${reason}` };
      }
    },
    /** Waits for the exchanges in progress and accepts no new ones. */
    close(): Promise<void> {
      closing ??= (async () => (await agent.existing())?.close())();
      return closing;
    },
  };
}

/** Unlike the default dispatcher of fetch, this agent ignores the proxies in environment variables. */
async function openAgent(policy: AddressPolicy): Promise<Agent> {
  const { default: undici } = await import('undici'); // several MB that many hubs never need
  // Explicit, because an environment variable could turn it off.
  const options = { timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true, allowH2: false };
  const connectors = {
    'https:': undici.buildConnector({ ...options, lookup: policy.lookups['https:'] }),
    'http:': undici.buildConnector({ ...options, lookup: policy.lookups['http:'] }),
  };
  const connect: buildConnector.connector = (target, callback) => {
    const scheme = target.protocol === 'https:' ? 'https:' : 'http:';
    // A socket calls `lookup` only for names.
    const problem = isIP(target.hostname) !== 0 ? policy.checkAddress(target.hostname, scheme) : undefined;
    if (problem === undefined) connectors[scheme](target, callback);
    else callback(new AddressRefused(`${target.hostname} ${problem}`), null);
  };
  return new undici.Agent({
    connect,
    // No limit for an origin: one endpoint could then occupy the connections of others with the same host.
    // The callers limit the attempts to each endpoint.
    connections: null,
    allowH2: false,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The deadline of each exchange limits its total time, which these per-read timeouts do not.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
}

/**
 * Reads at most 16 KiB and then closes the connection. If the connection breaks, returns the text until then:
 * the receiver has answered, and another attempt would deliver the message twice.
 */
async function readStart(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  body.on('error', () => {}); // closing the connection early causes one
  try {
    for await (const chunk of body) {
      chunks.push(chunk.subarray(0, MAX_BODY_BYTES - bytes));
      bytes += chunk.length;
      if (bytes >= MAX_BODY_BYTES) break;
    }
  } catch {}
  const text = Buffer.concat(chunks).toString('utf8').replaceAll('\0', '\uFFFD');
  // Not `slice` alone, which may split a surrogate pair.
  return [...text.slice(0, 2 * KEPT_CHARACTERS)].slice(0, KEPT_CHARACTERS).join('');
}

const MAX_PAUSE_MS = DAY_MS;

/**
 * Reads the header Retry-After (RFC 9110 section 10.2.3). Returns the pause in milliseconds, from 0 to a day;
 * undefined if the header is invalid.
 */
export function retryAfterMs(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : httpDate(value) - now.getTime();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_PAUSE_MS);
}

/** Parses `Sun, 06 Nov 1994 08:49:37 GMT` to milliseconds since 1970. NaN for any other format. */
function httpDate(value: string): number {
  return /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(value)
    ? Date.parse(value)
    : NaN;
}
