// Interprets the answers of gateway_two: pure functions of an answer and the expected payment.
import { formatMoney, sameMoney } from '../../money.ts';
import {
  type Checkout,
  type ExpectedPayment,
  type GrantedToken,
  ProviderRefused,
  ProviderUnavailable,
  type Verdict,
} from '../driver.ts';
import {
  type Answer,
  optionalId,
  optionalText,
  readAnswer,
  readCheckoutUrl,
  readMoney,
  requiredId,
  requiredText,
} from '../driver-calls.ts';

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
const FINAL: ReadonlyMap<string, string> = new Map([
  ['2002', 'it does not know the payment id'],
  ['2014', 'the PIN was wrong'],
  ['2015', 'the PIN was wrong'],
  ['2023', 'the balance was too low'],
]);
const TRANSIENT = new Set(['2003', '2020', '2024', '503']);
const NOT_PAID: ReadonlyMap<string, 'failed' | 'cancelled'> = new Map([
  ['Cancelled', 'cancelled'],
  ['Expired', 'cancelled'],
  ['Failed', 'failed'],
  ['Failure', 'failed'],
  ['Declined', 'failed'],
]);
const REVERSED = new Set(['Refunded', 'Reversed', 'Charged Back']);

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

/** @throws ProviderRefused, ProviderUnavailable */
export function readCheckout({ code, status, answer, summary }: Reply): Checkout {
  if (code === DONE) {
    return { providerPaymentId: paymentIdOf(answer), checkoutUrl: readCheckoutUrl(answer, 'bkashURL') };
  }
  if (isTransient({ code, status })) {
    throw new ProviderUnavailable(`the provider cannot create a checkout now: ${summary}`);
  }
  throw new ProviderRefused(`the provider refused the checkout: ${summary}`);
}

/**
 * The answer to execute. Pending means that it leaves open whether the payment was executed, now or before
 * (2062, 2068, 2116, 2117, 2119), or could not be judged (2056, 2060, unknown codes): the query decides.
 *
 * @throws ProviderUnavailable
 */
export function judgeExecution(reply: Reply, expected: ExpectedPayment): Verdict {
  if (reply.code === DONE) return judgePayment(reply.answer, expected);
  if (reply.code !== undefined && TRANSIENT.has(reply.code))
    throw new ProviderUnavailable(`the provider answered ${reply.summary}`);
  return notPaid(reply) ?? { kind: 'pending', detail: `the provider answered ${reply.summary}` };
}

/** The answer to the query. @throws ProviderUnavailable */
export function judgeQuery(reply: Reply, expected: ExpectedPayment): Verdict {
  if (reply.code === DONE) return judgePayment(reply.answer, expected);
  const verdict = notPaid(reply);
  if (verdict === undefined) throw new ProviderUnavailable(`the provider answered ${reply.summary}`);
  return verdict;
}

function notPaid({ code = '', summary }: Reply): Verdict | undefined {
  const meaning = FINAL.get(code);
  if (meaning === undefined) return undefined;
  return { kind: 'not_paid', status: 'failed', detail: `the provider answered ${summary}: ${meaning}` };
}

function judgePayment(answer: Answer, expected: ExpectedPayment): Verdict {
  const status = requiredText(answer, 'transactionStatus');
  const detail = `the provider says ${status}`;
  const wasPaid = status === 'Completed' || REVERSED.has(status);
  if (!wasPaid) {
    // Nothing moved, so only the payment has to be the right one for the answer to count.
    if (paymentIdOf(answer) !== expected.providerPaymentId) {
      throw new ProviderUnavailable('the provider answered about another payment');
    }
    const end = NOT_PAID.get(status);
    return end === undefined ? { kind: 'pending', detail } : { kind: 'not_paid', status: end, detail };
  }
  if (paymentIdOf(answer) !== expected.providerPaymentId) {
    return { kind: 'mismatch', detail: `${detail} of another payment` };
  }
  if (invoiceOf(answer) !== expected.merchantTransactionId) {
    return { kind: 'mismatch', detail: `${detail} of another invoice` };
  }
  const amount = readMoney(requiredText(answer, 'amount'), requiredText(answer, 'currency'));
  if (!sameMoney(amount, expected.amount)) {
    return {
      kind: 'mismatch',
      detail: `${detail}: ${formatMoney(amount)}, not ${formatMoney(expected.amount)}`,
    };
  }
  if (status !== 'Completed') return { kind: 'reversed', detail };
  const gatewayTransactionId = requiredId(answer, 'trxID');
  return { kind: 'paid', gatewayTransactionId, detail: `${detail}: ${formatMoney(amount)}` };
}

export function paymentIdOf(answer: Answer): string {
  return oneOf(answer, 'paymentID', 'paymentId');
}

export function invoiceOf(answer: Answer): string {
  return oneOf(answer, 'merchantInvoiceNumber', 'merchantInvoice');
}

/** Whether an answer without success leaves open what happened. */
export function isTransient({ code, status }: Pick<Reply, 'code' | 'status'>): boolean {
  return code === undefined ? status < 400 : TRANSIENT.has(code);
}

export function isDone({ code }: Reply): boolean {
  return code === DONE;
}

/** Whether the provider says for good that there is no such payment. */
export function isFinal({ code = '' }: Reply): boolean {
  return FINAL.has(code);
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
