// Reads a provider's JSON strictly. What cannot be read says nothing about a payment: ProviderUnavailable.
import { type Money, MoneyError, parseMoney } from '../money.ts';
import { ProviderUnavailable } from '../provider.ts';

/** Numbers in it are the text they were sent as: 100.10 never was a float. */
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

/** A text or number; undefined if there is none, or an empty one. @throws ProviderUnavailable for any other type */
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

/** What identifies something at the provider, or proves it; undefined if there is none. @throws ProviderUnavailable */
export function optionalId(answer: Answer, name: string): string | undefined {
  const value = optionalText(answer, name);
  if (value === undefined || (value.length <= LONGEST_ID && !/\p{C}/u.test(value))) return value;
  throw new ProviderUnavailable(
    `"${name}" of the answer is no id: it is too long, or has characters nobody sees`,
  );
}

/** @throws ProviderUnavailable */
export function requiredId(answer: Answer, name: string): string {
  return optionalId(answer, name) ?? requiredText(answer, name);
}

/** As long as the contract has them; what PostgreSQL cannot index or store would be refused at each try, for a day. */
const LONGEST_ID = 255;

/** @throws ProviderUnavailable for what is no amount, or no currency */
export function readMoney(decimal: string, currency: string): Money {
  try {
    return parseMoney(decimal, currency);
  } catch (error) {
    if (!(error instanceof MoneyError)) throw error;
    throw new ProviderUnavailable(`the provider's answer has no amount of money: ${decimal} ${currency}`);
  }
}

/** Where to send the customer. @throws ProviderUnavailable unless it is an http(s) URL */
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
    return JSON.parse(body, numbersAsSent as (this: unknown, key: string, value: unknown) => unknown); // the library's types lack the third parameter
  } catch {
    throw new ProviderUnavailable(
      body.trim() === '' ? "the provider's answer is empty" : "the provider's answer is not JSON",
    );
  }
}
