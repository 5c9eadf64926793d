// One request to the hub: its time-out, and what comes back as JSON or as a LicenseError.
import type { Clock } from './clock.ts';
import { isErrorCode, LicenseError } from './errors.ts';
import type { Fetch } from './fetch.ts';
import { type Signal, unlessAborted } from './signal.ts';
import { isJsonObject, type JsonObject, parseJsonObject } from './strict-json.ts';

export type HttpOptions = {
  /** With a slash at its end. */
  readonly hubUrl: string;
  readonly fetch: Fetch;
  readonly timeoutMs: number;
  readonly clock: Clock;
};

export type Ask = {
  /** Below the hub's address, without a slash before it. */
  readonly path: string;
  readonly query?: { readonly [name: string]: string };
  /** Makes it a POST. */
  readonly body?: object;
  readonly signal?: Signal | undefined;
};

/** The JSON object of a 200. Rejects with LicenseError. */
export type Http = (ask: Ask) => Promise<JsonObject>;

/** More than the hub ever answers. */
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
      const response = await fetch(url.href, {
        ...(body && {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
        // A redirect would hand the license key to somebody else; nothing of this belongs into a cache.
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
        throw new LicenseError('aborted', 'the call was given up', { cause: signal.reason });
      if (slow.signal.aborted) {
        throw new LicenseError('timeout', `the hub did not answer within ${timeoutMs} ms`, { cause });
      }
      throw new LicenseError('network', 'the hub cannot be reached', { cause });
    } finally {
      cancel();
    }
  };
}

export function unexpected(what: string, status = 200): LicenseError {
  return new LicenseError('unexpected_answer', `this is not how a hub answers: ${what}`, { status });
}

/** Undefined if it is too long, or not UTF-8. */
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

/** Only a problem document (RFC 9457) is the hub speaking. A proxy, or the login page of a hotel, decides nothing. */
function refusal(response: Response, text: string | undefined): LicenseError {
  const { status, headers } = response;
  const isProblem = headers.get('content-type')?.startsWith('application/problem+json') ?? false;
  const problem = isProblem && text !== undefined ? parseJsonObject(text) : undefined;
  const { code, detail, seats } = problem ?? {};
  if (typeof code !== 'string' || !isErrorCode(code) || problem?.['status'] !== status) {
    return unexpected(`status ${status}`, status);
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

/** Seconds; the form with a date, which the hub does not use, is not read. */
function readRetryAfter(header: string | null): number | undefined {
  if (header === null || !/^\d{1,9}$/.test(header)) return undefined;
  return Math.min(Number(header), MAX_RETRY_AFTER_SECONDS);
}

function isSeats(value: unknown): value is { readonly limit: number; readonly used: number } {
  return isJsonObject(value) && Number.isInteger(value['limit']) && Number.isInteger(value['used']);
}
