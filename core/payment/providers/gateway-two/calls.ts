// Calls gateway_two with an access token, and renews the token once if the provider rejects it.
import {
  type GrantedToken,
  type ProviderAccess,
  ProviderUnavailable,
  type VerificationStep,
} from '../driver.ts';
import { addressOf, recordStep } from '../driver-calls.ts';
import { type Reply, readGrant, readReply } from './answers.ts';

export type AuthorizedCall<T> = {
  /** The name of the recorded step. */
  readonly operation: string;
  /** The URL before the path. Default: the slot's base URL. */
  readonly root?: string;
  readonly path: string;
  readonly body: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly read: (reply: Reply) => T;
  readonly note: (result: T) => Pick<VerificationStep, 'outcome' | 'detail'>;
  /** The outcome of the recorded step if the provider refuses. Default: `not_paid`. */
  readonly refusal?: VerificationStep['outcome'];
};

const QUERY_TIMEOUT_MS = 15_000;
// Less than the lease of the token cache.
const GRANT_TIMEOUT_MS = 10_000;

/** @throws ProviderUnavailable, ProviderRefused */
export async function callAuthorized<T>(access: ProviderAccess, call: AuthorizedCall<T>): Promise<T> {
  const token = await accessToken(access);
  const first = await attempt(access, call, token);
  if (first !== TOKEN_REJECTED) return first;
  const second = await attempt(access, call, await accessToken(access, token));
  if (second === TOKEN_REJECTED)
    throw new ProviderUnavailable('the provider does not accept the access token it has just granted');
  return second;
}

/** Queries a payment. @throws ProviderUnavailable, ProviderRefused */
export function queryPayment<T>(
  access: ProviderAccess,
  id: string,
  { read, note }: Pick<AuthorizedCall<T>, 'read' | 'note'>,
): Promise<T> {
  const [path, body] = ['/payment/status', paymentBody(access, id)];
  return callAuthorized(access, { operation: 'query', path, timeoutMs: QUERY_TIMEOUT_MS, body, read, note });
}

/** The payment id in execute and query, under the name that the deployment expects. */
export function paymentBody({ options }: ProviderAccess, id: string): Record<string, string> {
  return { [options['paymentIdField'] ?? 'paymentId']: id };
}

/** @throws ProviderUnavailable, ProviderRefused */
export function accessToken(access: ProviderAccess, rejected?: string): Promise<string> {
  return access.tokens.get(() => grant(access), rejected);
}

/** Requests a new token for all hubs, even if there is one. @throws ProviderUnavailable, ProviderRefused */
export async function renewToken(access: ProviderAccess): Promise<void> {
  let granted = false;
  const current = await access.tokens.get(() => {
    granted = true;
    return grant(access);
  });
  if (!granted) await accessToken(access, current);
}

const TOKEN_REJECTED = Symbol('the provider did not accept the access token');

function attempt<T>(
  access: ProviderAccess,
  { operation, root = access.baseUrl, path, body, timeoutMs, read, note, refusal }: AuthorizedCall<T>,
  token: string,
): Promise<T | typeof TOKEN_REJECTED> {
  const headers = { authorization: token, 'x-app-key': access.credentials.reveal()['appKey'] ?? '' };
  return recordStep<T | typeof TOKEN_REJECTED>(
    access,
    operation,
    async () => {
      const { status, body: text } = await post(access, addressOf(root, path), headers, body, timeoutMs);
      return status === 401 ? TOKEN_REJECTED : read(readReply(status, text));
    },
    (result) =>
      result === TOKEN_REJECTED
        ? { outcome: 'unavailable', detail: 'the provider did not accept the access token' }
        : note(result),
    refusal,
  );
}

function grant(access: ProviderAccess): Promise<GrantedToken> {
  const { username = '', password = '', appKey = '', appSecret = '' } = access.credentials.reveal();
  const body = { app_key: appKey, app_secret: appSecret };
  return recordStep(
    access,
    'grant',
    async () => {
      const url = addressOf(access.baseUrl, '/token/grant');
      const answer = await post(access, url, { username, password }, body, GRANT_TIMEOUT_MS);
      return readGrant(readReply(answer.status, answer.body));
    },
    ({ expiresInSeconds }) => ({
      outcome: 'pending',
      detail: `the provider granted an access token for ${expiresInSeconds} s`,
    }),
  );
}

function post(
  { http }: ProviderAccess,
  url: string,
  headers: Readonly<Record<string, string>>,
  body: Readonly<Record<string, string>>,
  timeoutMs: number,
) {
  return http.send({
    method: 'POST',
    url,
    headers: { ...headers, accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify(body),
    timeoutMs,
  });
}
