// The calls of drivers: reads the JSON answers of providers, records each call with its result and duration,
// and redacts the slot's secrets and the customer from these records, and from the driver's errors and
// verdicts, even if the provider repeats them.
import { type Money, MoneyError, parseMoney } from '../money.ts';
import {
  type CatalogCalls,
  type CheckoutRequest,
  type FoundPayment,
  type FoundPayments,
  type PaymentDriver,
  type PaymentSearch,
  type ProviderAccess,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
  type RefundCalls,
  type TokenCache,
  type Verdict,
  type VerificationStep,
} from './driver.ts';

/** Wraps a driver so that credentials and access tokens are replaced by `***`. */
export function redactSecrets(driver: PaymentDriver): PaymentDriver {
  return {
    ...driver,
    createCheckout: (access, checkout) =>
      withRedaction(access, (own) => driver.createCheckout(own, checkout), personalValues(checkout.customer)),
    verify: (access, expected) =>
      withRedaction(access, async (own, redact) => {
        const verdict = await driver.verify(own, expected);
        const detail = redact(verdict.detail);
        if (verdict.kind !== 'paid' || verdict.risk === undefined) return { ...verdict, detail };
        const { level, title } = verdict.risk;
        return { ...verdict, detail, risk: { level, title: redact(title) } };
      }),
    findPayments: (access, search) =>
      withRedaction(access, async (own, redact) => {
        const { payments, unanswered } = await driver.findPayments(own, search);
        return { payments, unanswered: new Map([...unanswered].map(([id, reason]) => [id, redact(reason)])) };
      }),
    testCredentials: (access) =>
      withRedaction(access, async (own, redact) => ({
        detail: redact((await driver.testCredentials(own)).detail),
      })),
    ...(driver.refunds && { refunds: redactRefunds(driver.refunds) }),
    ...(driver.catalog && { catalog: redactCatalog(driver.catalog) }),
  };
}

function redactCatalog(catalog: CatalogCalls): CatalogCalls {
  return {
    ...catalog,
    findSale: (access, providerPaymentId) =>
      withRedaction(access, (own) => catalog.findSale(own, providerPaymentId)),
  };
}

/** The reason of a refund may name a person too. */
function redactRefunds(refunds: RefundCalls): RefundCalls {
  const redacted = (refund: ProviderRefund, redact: (text: string) => string): ProviderRefund => ({
    ...refund,
    detail: redact(refund.detail),
  });
  return {
    request: (access, refund) =>
      withRedaction(
        access,
        async (own, redact) => redacted(await refunds.request(own, refund), redact),
        reasonSpellings(refund.reason),
      ),
    find: (access, search) =>
      withRedaction(access, async (own, redact) => {
        const found = await refunds.find(own, search);
        return { ...found, refunds: found.refunds.map((refund) => redacted(refund, redact)) };
      }),
  };
}

const LONGEST = 300;

async function withRedaction<T>(
  access: ProviderAccess,
  work: (access: ProviderAccess, redact: (text: string) => string) => Promise<T>,
  personal: readonly string[] = [],
): Promise<T> {
  const persons = [...personal, ...(access.personal ?? [])].filter(isLong);
  const secrets = new Set([...Object.values(access.credentials.reveal()), ...persons].flatMap(spellings));
  const learn = (token: string): string => {
    for (const spelling of spellings(token)) secrets.add(spelling);
    return token;
  };
  const tokens: TokenCache = {
    async get(grant, rejected) {
      const learningGrant = async () => {
        const granted = await grant();
        learn(granted.token);
        return granted;
      };
      return learn(await access.tokens.get(learningGrant, rejected));
    },
  };
  const redact = (text: string): string => {
    const folded = foldCase(text);
    // Longest first, because one secret may be part of another. In any case, because a provider may write a
    // name in capitals. Truncated last, because half a secret would not match.
    const redacted = [...secrets]
      // Most texts contain none, and to compile the expressions takes longer than the rest of a verification.
      .filter((secret) => folded.includes(foldCase(secret)))
      .sort((one, other) => other.length - one.length)
      .reduce((rest, secret) => rest.replace(new RegExp(RegExp.escape(secret), 'giu'), '***'), text);
    // PostgreSQL cannot store half of a surrogate pair.
    return redacted
      .replace(/\p{C}+/gu, ' ')
      .slice(0, LONGEST)
      .toWellFormed();
  };
  try {
    const observe: ProviderAccess['observe'] = (step) =>
      access.observe({ ...step, detail: redact(step.detail) });
    return await work({ ...access, tokens, observe }, redact);
  } catch (error) {
    if (error instanceof ProviderUnavailable) throw new ProviderUnavailable(redact(error.message));
    if (error instanceof ProviderRefused) throw new ProviderRefused(redact(error.message));
    throw error;
  }
}

/** Equal for texts that are the same but for their case, also for letters with two lower cases. */
const foldCase = (text: string): string => text.toLowerCase().toUpperCase();

/** In bytes of UTF-8. A shorter name is part of too many words, unless it is of Chinese characters. */
const SHORTEST = 3;

const isLong = (text: string): boolean => Buffer.byteLength(text) >= SHORTEST;

/**
 * What identifies the customer. A provider may repeat it in an answer, which becomes part of the audit log
 * and could not be erased there.
 */
export function personalValues({ name, email, phone, address }: CheckoutRequest['customer']): string[] {
  return [name, email, phone, address].filter((value) => value !== undefined);
}

/** Providers take at most 255 characters. Half of a surrogate pair has no spelling in a URL. */
function reasonSpellings(reason: string): string[] {
  return [reason, reason.slice(0, 255).toWellFormed()];
}

/** The secret as plain text, and as encoded in a URL, a form and JSON. */
function spellings(secret: string): string[] {
  if (secret === '') return [];
  const form = new URLSearchParams({ '': secret }).toString().slice(1);
  return [secret, encodeURIComponent(secret), form, JSON.stringify(secret).slice(1, -1)];
}

/**
 * Runs `call`; `describe` maps its result to the recorded outcome. Refusals and missing answers are recorded
 * too, a refusal with the outcome `refusal`.
 */
export async function recordStep<T>(
  { observe, clock }: Pick<ProviderAccess, 'observe' | 'clock'>,
  operation: string,
  call: () => Promise<T>,
  describe: (result: T) => Pick<VerificationStep, 'outcome' | 'detail'>,
  refusal: VerificationStep['outcome'] = 'not_paid',
): Promise<T> {
  const askedAt = clock();
  const start = performance.now();
  const report = (result: Pick<VerificationStep, 'outcome' | 'detail'>): void => {
    const { outcome, detail } = result;
    observe({ operation, outcome, detail, askedAt, durationMs: Math.round(performance.now() - start) });
  };
  try {
    const result = await call();
    report(describe(result));
    return result;
  } catch (error) {
    if (error instanceof ProviderUnavailable) report({ outcome: 'unavailable', detail: error.message });
    if (error instanceof ProviderRefused) report({ outcome: refusal, detail: error.message });
    throw error;
  }
}

export function describeVerdict({ kind, detail }: Verdict): Pick<VerificationStep, 'outcome' | 'detail'> {
  return { outcome: kind, detail };
}

/** For queries: a refusal says nothing about the payment, so it counts as no answer. */
export async function asUnavailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof ProviderRefused ? new ProviderUnavailable(error.message) : error;
  }
}

/**
 * Finds the payments that callbacks claim, for a provider without a list of the payments of a session. Each
 * id is judged on its own, because a forged one may get any answer.
 */
export async function findClaimed(
  { claimedPaymentIds }: PaymentSearch,
  find: (id: string) => Promise<FoundPayment | undefined>,
): Promise<FoundPayments> {
  const payments: FoundPayment[] = [];
  const unanswered = new Map<string, string>();
  for (const id of claimedPaymentIds) {
    try {
      const payment = await find(id);
      if (payment !== undefined) payments.push(payment);
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error;
      unanswered.set(id, error.message);
    }
  }
  return { payments, unanswered };
}

/** The URL of a path below a base URL, with or without a slash at its end. */
export function addressOf(baseUrl: string, path: string): string {
  return baseUrl.replace(/\/+$/, '') + path;
}

/** Numbers are kept as the text that was sent, so that 100.10 is never a float. */
export type Answer = Readonly<Record<string, unknown>>;

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/**
 * Parses strictly: an unreadable answer counts as no answer. @throws ProviderUnavailable unless it is one
 * JSON object
 */
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
