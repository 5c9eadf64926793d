// Calls to gateway_two with an access token: granted when needed, renewed once when it is not accepted.
import {
  type GrantedToken,
  type ProviderAccess,
  ProviderRefused,
  ProviderUnavailable,
  type VerificationStep,
} from '../provider.ts';
import { type Reply, readGrant, readReply } from './gateway-two-answers.ts';
import { noted } from './noted.ts';

export type AuthorizedCall<T> = {
  /** As the session's story calls it. */
  readonly operation: string;
  readonly path: string;
  readonly body: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly read: (reply: Reply) => T;
  readonly note: (result: T) => Pick<VerificationStep, 'outcome' | 'detail'>;
};

// Less than the lease under which one hub asks for all.
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

/** @throws ProviderUnavailable, ProviderRefused */
export function accessToken(access: ProviderAccess, rejected?: string): Promise<string> {
  return access.tokens.get(() => grant(access), rejected);
}

/** A new token for all hubs, whether there is one or not. @throws ProviderUnavailable, ProviderRefused */
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
  { operation, path, body, timeoutMs, read, note }: AuthorizedCall<T>,
  token: string,
): Promise<T | typeof TOKEN_REJECTED> {
  const headers = { authorization: token, 'x-app-key': access.credentials.reveal()['appKey'] ?? '' };
  return noted<T | typeof TOKEN_REJECTED>(
    access,
    operation,
    async () => {
      const { status, body: text } = await post(access, path, headers, body, timeoutMs);
      return status === 401 ? TOKEN_REJECTED : read(readReply(status, text));
    },
    (result) =>
      result === TOKEN_REJECTED
        ? { outcome: 'unavailable', detail: 'the provider did not accept the access token' }
        : note(result),
  );
}

function grant(access: ProviderAccess): Promise<GrantedToken> {
  const { username = '', password = '', appKey = '', appSecret = '' } = access.credentials.reveal();
  const body = { app_key: appKey, app_secret: appSecret };
  return noted(
    access,
    'grant',
    async () => {
      const answer = await post(access, '/token/grant', { username, password }, body, GRANT_TIMEOUT_MS);
      return readGrant(readReply(answer.status, answer.body));
    },
    ({ expiresInSeconds }) => ({ outcome: 'pending', detail: `an access token for ${expiresInSeconds} s` }),
  );
}

function post(
  { http, baseUrl }: ProviderAccess,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: Readonly<Record<string, string>>,
  timeoutMs: number,
) {
  return http.send({
    method: 'POST',
    url: baseUrl.replace(/\/+$/, '') + path,
    headers: { ...headers, accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify(body),
    timeoutMs,
  });
}

/** Verification knows no refusal: a provider that refuses to be asked has said nothing about the payment. */
export async function asUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProviderRefused ? new ProviderUnavailable(error.message) : error;
  }
}
