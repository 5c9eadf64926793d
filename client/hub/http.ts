// Sends one request to the hub, with a timeout; returns JSON or throws a LicenseError.

import { type Signal, unlessAborted } from '../abort-signal.ts';
import type { Clock } from '../clock.ts';
import { isErrorCode, LicenseError } from '../errors.ts';
import { isJsonObject, type JsonObject, parseJsonObject } from '../license/strict-json.ts';
import type { Fetch } from './fetch.ts';

export type HttpOptions = {
  /** Ends with a slash. */
  readonly hubUrl: string;
  readonly fetch: Fetch;
  readonly timeoutMs: number;
  readonly clock: Clock;
};

export type HttpRequest = {
  /** Relative to the hub's URL, without a leading slash. */
  readonly path: string;
  readonly query?: { readonly [name: string]: string };
  /** Makes it a POST. */
  readonly body?: object;
  readonly signal?: Signal | undefined;
};

/** Resolves to the JSON object of a 200 response. Rejects with LicenseError. */
export type Http = (ask: HttpRequest) => Promise<JsonObject>;

/** No response of the hub is larger. */
const MAX_BYTES = 256 * 1024;
const MAX_RETRY_AFTER_SECONDS = 24 * 60 * 60;

export function createHttp({ hubUrl, fetch, timeoutMs, clock }: HttpOptions): Http {
  return async ({ path, query = {}, body, signal }) => {
    const url = new URL(path, hubUrl);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const slow = new AbortController();
    const cancel = clock.timer(() => slow.abort(), timeoutMs);
    const ended = signal ? AbortSignal.any([signal, slow.signal]) : slow.signal;
    const exchange = async (): Promise<JsonObject> => {
      // The application's fetch may ignore the signal.
      ended.throwIfAborted();
      const response = await fetch(url.href, {
        ...(body && {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
        // A redirect would send the license key to another server.
        redirect: 'error',
        cache: 'no-store',
        credentials: 'omit',
        referrerPolicy: 'no-referrer',
        signal: ended,
      });
      const text = await readText(response);
      if (response.status === 200) {
        const answer = text === undefined ? undefined : parseJsonObject(text);
        if (answer !== undefined) return answer;
      }
      throw refusal(response, text);
    };
    try {
      return await unlessAborted(ended, exchange());
    } catch (cause) {
      if (cause instanceof LicenseError) throw cause;
      if (signal?.aborted)
        throw new LicenseError('aborted', 'the call was aborted', { cause: signal.reason });
      if (slow.signal.aborted) {
        throw new LicenseError('timeout', `the hub did not answer within ${timeoutMs} ms`, { cause });
      }
      throw new LicenseError('network', 'the hub cannot be reached', { cause });
    } finally {
      cancel();
    }
  };
}

export function unexpectedAnswer(what: string, status = 200): LicenseError {
  return new LicenseError('unexpected_answer', `not a response of a hub: ${what}`, { status });
}

/** Undefined if the body is too long or not UTF-8. */
async function readText(response: Response): Promise<string | undefined> {
  if (response.body === null) return '';
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const reader = response.body.getReader();
  let [text, size] = ['', 0];
  for (;;) {
    const { done, value } = await reader.read();
    size += value?.length ?? 0;
    if (size > MAX_BYTES) {
      await reader.cancel();
      return undefined;
    }
    try {
      text += done ? decoder.decode() : decoder.decode(value, { stream: true });
    } catch {
      await reader.cancel();
      return undefined;
    }
    if (done) return text;
  }
}

/** Only a problem document (RFC 9457) is a refusal of the hub; other responses come from a proxy or a login page. */
function refusal(response: Response, text: string | undefined): LicenseError {
  const { status, headers } = response;
  const isProblem = headers.get('content-type')?.startsWith('application/problem+json') ?? false;
  const problem = isProblem && text !== undefined ? parseJsonObject(text) : undefined;
  const { code, detail, seats } = problem ?? {};
  if (typeof code !== 'string' || !isErrorCode(code) || problem?.['status'] !== status) {
    return unexpectedAnswer(`status ${status}`, status);
  }
  const retryAfterSeconds = readRetryAfter(headers.get('retry-after'));
  const requestId = headers.get('x-request-id');
  return new LicenseError(code, typeof detail === 'string' ? detail : code, {
    status,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    ...(requestId !== null && { requestId }),
    ...(isSeats(seats) && { seats }),
  });
}

/** Reads seconds only: the hub never sends the date form. */
function readRetryAfter(header: string | null): number | undefined {
  if (header === null || !/^\d{1,9}$/.test(header)) return undefined;
  return Math.min(Number(header), MAX_RETRY_AFTER_SECONDS);
}

function isSeats(value: unknown): value is { readonly limit: number; readonly used: number } {
  return isJsonObject(value) && Number.isInteger(value['limit']) && Number.isInteger(value['used']);
}
