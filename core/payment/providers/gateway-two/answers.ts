// Reads the answers of gateway_two in any of its envelopes.
import { type GrantedToken, ProviderRefused, ProviderUnavailable } from '../driver.ts';
import { type Answer, optionalId, optionalText, readAnswer, requiredText } from '../driver-calls.ts';

/**
 * An answer in any of the provider's envelopes: `statusCode`, `errorCode`, `externalCode`, or a bare
 * `message`.
 */
export type Reply = {
  readonly status: number;
  readonly code: string | undefined;
  /** Code and message, for people. */
  readonly summary: string;
  readonly answer: Answer;
};

/** The only code of success; HTTP 200 alone means nothing. */
const DONE = '0000';
/** Codes after which the outcome no longer changes. */
export const FINAL_CODES: ReadonlyMap<string, string> = new Map([
  ['2002', 'it does not know the payment id'],
  ['2014', 'the PIN was wrong'],
  ['2015', 'the PIN was wrong'],
  ['2023', 'the balance was too low'],
]);
export const TRANSIENT_CODES = new Set(['2003', '2020', '2024', '503']);

/** @throws ProviderUnavailable for an unreadable answer, and for HTTP statuses that request a later retry */
export function readReply(status: number, body: string): Reply {
  if (status >= 500 || status === 408 || status === 429) {
    throw new ProviderUnavailable(`the provider answered with HTTP ${status}`);
  }
  const answer = readAnswer(body);
  const first = (...names: string[]) => names.map((name) => optionalText(answer, name)).find(Boolean);
  const code = first('statusCode', 'errorCode', 'externalCode');
  const message = first('statusMessage', 'errorMessage', 'errorMessageEn', 'message');
  return { status, code, answer, summary: [code ?? `HTTP ${status}`, message].filter(Boolean).join(' ') };
}

/** @throws ProviderRefused, ProviderUnavailable */
export function readGrant(reply: Reply): GrantedToken {
  const { code, status, answer, summary } = reply;
  if (status >= 400 || code === '2001')
    throw new ProviderRefused(`the provider grants no access token: ${summary}`);
  if (code !== undefined && code !== DONE)
    throw new ProviderUnavailable(`the provider grants no access token: ${summary}`);
  const token = requiredText(answer, 'id_token');
  const seconds = requiredText(answer, 'expires_in');
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new ProviderUnavailable("the provider's access token is malformed");
  if (!/^[1-9]\d{0,8}$/.test(seconds))
    throw new ProviderUnavailable('"expires_in" of the answer is not a number of seconds');
  return { token, expiresInSeconds: Number(seconds) };
}

export function paymentIdOf(answer: Answer): string {
  return oneOf(answer, 'paymentID', 'paymentId');
}

export function invoiceOf(answer: Answer): string {
  return oneOf(answer, 'merchantInvoiceNumber', 'merchantInvoice');
}

/** Whether an answer without success leaves open what happened. */
export function isTransient({ code, status }: Pick<Reply, 'code' | 'status'>): boolean {
  return code === undefined ? status < 400 : TRANSIENT_CODES.has(code);
}

export function isDone({ code }: Reply): boolean {
  return code === DONE;
}

/** Whether the provider says for good that there is no such payment. */
export function isFinal({ code = '' }: Reply): boolean {
  return FINAL_CODES.has(code);
}

export function isCompleted(answer: Answer): boolean {
  return requiredText(answer, 'transactionStatus') === 'Completed';
}

/**
 * A field with two names.
 *
 * @throws ProviderUnavailable if there is none, or if the two contradict each other
 */
function oneOf(answer: Answer, name: string, otherName: string): string {
  const other = optionalId(answer, otherName);
  const value = optionalId(answer, name) ?? other;
  if (value === undefined) throw new ProviderUnavailable(`the provider's answer has no "${name}"`);
  if (other !== undefined && other !== value) {
    throw new ProviderUnavailable(`"${name}" and "${otherName}" of the answer differ`);
  }
  return value;
}
