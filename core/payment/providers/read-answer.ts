// Parses the JSON answers of providers: strictly, because an unreadable answer counts as no answer.
import { type Money, MoneyError, parseMoney } from '../money.ts';
import { ProviderUnavailable } from './driver.ts';

/** Numbers are kept as the text that was sent, so that 100.10 is never a float. */
export type Answer = Readonly<Record<string, unknown>>;

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** @throws ProviderUnavailable unless the text is one JSON object */
export function readAnswer(body: string): Answer {
  return readObject(parse(body), "the provider's answer");
}

/** @throws ProviderUnavailable unless the value is a JSON object; `what` says which */
export function readObject(value: unknown, what: string): Answer {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProviderUnavailable(`${what} is not a JSON object`);
  }
  return value as Answer; // an object that came out of JSON.parse
}

/** A text or number; undefined if missing or empty. @throws ProviderUnavailable for any other type */
export function optionalText(answer: Answer, name: string): string | undefined {
  const value = answer[name] ?? '';
  if (typeof value !== 'string') throw new ProviderUnavailable(`"${name}" of the answer is not text`);
  return value === '' ? undefined : value;
}

/** @throws ProviderUnavailable */
export function requiredText(answer: Answer, name: string): string {
  const value = optionalText(answer, name);
  if (value === undefined) throw new ProviderUnavailable(`the provider's answer has no "${name}"`);
  return value;
}

/**
 * An id of the provider's; undefined if missing.
 *
 * @throws ProviderUnavailable if PostgreSQL could not store or index it
 */
export function optionalId(answer: Answer, name: string): string | undefined {
  const value = optionalText(answer, name);
  if (value === undefined || (value.length <= MAX_ID_CHARACTERS && !/\p{C}/u.test(value))) return value;
  throw new ProviderUnavailable(
    `"${name}" of the answer is not a valid id: it is too long or has invisible characters`,
  );
}

/** @throws ProviderUnavailable */
export function requiredId(answer: Answer, name: string): string {
  return optionalId(answer, name) ?? requiredText(answer, name);
}

/** The maximum in the contract. Storing a longer one would fail at each retry, for a day. */
const MAX_ID_CHARACTERS = 255;

/** @throws ProviderUnavailable for an invalid amount or currency */
export function readMoney(decimal: string, currency: string): Money {
  try {
    return parseMoney(decimal, currency);
  } catch (error) {
    if (!(error instanceof MoneyError)) throw error;
    throw new ProviderUnavailable(`the provider's answer has no amount of money: ${decimal} ${currency}`);
  }
}

/** The URL to send the customer to. @throws ProviderUnavailable unless it is an http(s) URL */
export function readCheckoutUrl(answer: Answer, name: string): string {
  const url = requiredText(answer, name);
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? '')) {
    throw new ProviderUnavailable(`"${name}" of the answer is not an http or https URL`);
  }
  return url;
}

function parse(body: string): unknown {
  const numbersAsSent: Reviver = (_key, value, { source }) => (typeof value === 'number' ? source : value);
  try {
    // The library's types lack the third parameter.
    return JSON.parse(body, numbersAsSent as (this: unknown, key: string, value: unknown) => unknown);
  } catch {
    throw new ProviderUnavailable(
      body.trim() === '' ? "the provider's answer is empty" : "the provider's answer is not JSON",
    );
  }
}
