// Calls Stripe's API with its official package, through the HTTP client of the slot.
import type Stripe from 'stripe';
import { type ProviderAccess, ProviderRefused, ProviderUnavailable } from '../driver.ts';
import { addressOf, asUnavailable, readAnswer } from '../driver-calls.ts';

const TIMEOUT_MS = 15_000;

/**
 * Loads the package with the first call, because it takes tens of megabytes that hubs without Stripe do not
 * need.
 */
export async function loadStripe(): Promise<typeof Stripe> {
  return (await import('stripe')).default;
}

/**
 * Calls the API. `call` also reads the answer, so that an answer of an undocumented form is reported as
 * unreadable.
 *
 * @throws ProviderUnavailable if the answer is unknown
 * @throws ProviderRefused
 */
export async function callStripe<T>(
  access: ProviderAccess,
  call: (stripe: Stripe) => Promise<T>,
): Promise<T> {
  const Client = await loadStripe();
  const { secretKey = '' } = access.credentials.reveal();
  const stripe = new Client(secretKey, {
    httpClient: httpClientFor(access),
    timeout: TIMEOUT_MS,
    // The hub repeats calls itself, within its own limits.
    maxNetworkRetries: 0,
    telemetry: false,
  });
  try {
    return await call(stripe);
  } catch (error) {
    throw providerError(error, Client);
  }
}

/** The account has no object with the id. */
class UnknownToStripe extends ProviderRefused {}

/** Calls the API for a query. @throws ProviderUnavailable */
export function queryStripe<T>(access: ProviderAccess, call: (stripe: Stripe) => Promise<T>): Promise<T> {
  return asUnavailable(() => callStripe(access, call));
}

/** The same, but returns undefined if the account has no object with the id. */
export function findInStripe<T>(
  access: ProviderAccess,
  call: (stripe: Stripe) => Promise<T>,
): Promise<T | undefined> {
  return asUnavailable(() =>
    callStripe(access, call).catch((error) => {
      if (error instanceof UnknownToStripe) return undefined;
      throw error;
    }),
  );
}

/** Adapts the HTTP client of the slot, with its connections, limits and base URL, to the package. */
function httpClientFor({ http, baseUrl }: ProviderAccess): Stripe.HttpClient {
  return {
    getClientName: () => 'hub',
    async makeRequest(_host, _port, path, method, headers, body, _protocol, timeoutMs) {
      if (method !== 'GET' && method !== 'POST') throw new Error(`the hub does not send ${method}`);
      const { status, body: text } = await http.send({
        method,
        url: addressOf(baseUrl, path),
        headers: textHeaders(headers),
        ...(method === 'POST' && { body }),
        timeoutMs,
      });
      // The package accepts any JSON object without the member "error" as the answer, with any status.
      const isError = 'error' in readAnswer(text);
      if (isError === (status === 200)) {
        throw new ProviderUnavailable(`the provider answered with HTTP ${status}`);
      }
      return {
        getStatusCode: () => status,
        getHeaders: () => ({}),
        getRawResponse: () => ({}),
        toStream: () => {
          throw new Error('the hub reads no streams');
        },
        toJSON: async () => JSON.parse(text),
      };
    },
  };
}

/** Without a content length, which the HTTP client computes. */
function textHeaders(headers: object): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !/^(content-length|user-agent)$/i.test(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

/** HTTP 409: another call with the same idempotency key is in progress. HTTP 429: too many calls. */
const TRANSIENT_STATUSES: ReadonlySet<unknown> = new Set([409, 429]);

function providerError(error: unknown, { errors }: typeof Stripe): unknown {
  if (error instanceof ProviderUnavailable || error instanceof ProviderRefused) return error;
  if (!(error instanceof errors.StripeError)) {
    // For example, a list without its items.
    const reason = error instanceof Error ? error.message : String(error);
    return new ProviderUnavailable(`the provider's answer is not readable: ${reason}`);
  }
  const { detail, message, statusCode } = error;
  const cause: unknown = detail;
  if (cause instanceof ProviderUnavailable) return cause;
  if (cause instanceof Error && statusCode === undefined) return cause;
  const isRefused =
    error instanceof errors.StripeAuthenticationError ||
    error instanceof errors.StripePermissionError ||
    error instanceof errors.StripeInvalidRequestError ||
    error instanceof errors.StripeCardError;
  if (isRefused && !TRANSIENT_STATUSES.has(statusCode)) {
    const Refusal = statusCode === 404 ? UnknownToStripe : ProviderRefused;
    return new Refusal(`the provider refuses: ${message}`);
  }
  return new ProviderUnavailable(`the provider answered with HTTP ${statusCode ?? '?'}: ${message}`);
}
