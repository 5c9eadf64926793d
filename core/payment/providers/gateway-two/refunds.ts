// Refunds of gateway_two.
//
// The provider has two refund APIs. Version 1, below the base URL of a slot, refunds a payment once. Version
// 2 refunds parts of it several times, and lists its refunds, so this driver calls version 2 with the access
// tokens of version 1. From the provider's documentation and public integrations: the paths, the fields
// (`sku` and `reason` are required, at most 255 characters), HTTP 400 with `externalCode` for a refusal,
// `refundTransactions` missing for a payment without refunds.
//
// The list does not contain the merchant's id, so the hub recognizes a refund whose answer was lost by its
// amount. Nor does it contain a currency: a payment is refunded in its own.
import { formatDecimal, formatMoney, type Money, sameMoney } from '../../money.ts';
import {
  type FoundRefunds,
  type ProviderAccess,
  type ProviderRefund,
  ProviderRefused,
  ProviderUnavailable,
  type RefundCalls,
  type RefundRequest,
  type RefundSearch,
  type SettledPayment,
} from '../driver.ts';
import {
  type Answer,
  asUnavailable,
  optionalText,
  readMoney,
  readObject,
  requiredId,
  requiredText,
} from '../driver-calls.ts';
import { describeRefund, isCovered, refundedMinor } from '../reported-refunds.ts';
import { isDone, isTransient, type Reply } from './answers.ts';
import { accessToken, callAuthorized } from './calls.ts';
import { query } from './verify-payment.ts';

const REQUEST_TIMEOUT_MS = 30_000;
const QUERY_TIMEOUT_MS = 15_000;
const MAX_TEXT_CHARACTERS = 255;
const FOLDER = '/v2/tokenized-checkout/refund/payment';

const STATES: ReadonlyMap<string, ProviderRefund['state']> = new Map([
  ['Completed', 'succeeded'],
  ['Failed', 'failed'],
  ['Failure', 'failed'],
  ['Declined', 'failed'],
  ['Cancelled', 'failed'],
  ['Expired', 'failed'],
]);

/** The common prefix of the URLs of version 1 and version 2. */
export function rootUrl(baseUrl: string): string {
  return baseUrl.replace(/\/v1[^/]*\/tokenized\/checkout\/*$/, '');
}

export const refunds: RefundCalls = {
  async request(access, refund) {
    // If there is no token, the outcome of the earlier request is still unknown.
    if (refund.isRepeated) await asUnavailable(() => accessToken(access));
    return callAuthorized(access, {
      operation: 'refund',
      root: rootUrl(access.baseUrl),
      path: `${FOLDER}/transaction`,
      timeoutMs: REQUEST_TIMEOUT_MS,
      body: {
        paymentId: refund.payment.providerPaymentId,
        trxId: refund.payment.gatewayTransactionId,
        refundAmount: formatDecimal(refund.amount),
        // Free text, which statements show.
        sku: refund.reference,
        reason: refund.reason.slice(0, MAX_TEXT_CHARACTERS),
      },
      read: (reply) => readRequest(reply, refund),
      note: describeRefund,
      refusal: 'not_refunded',
    });
  },

  /**
   * Queries the payment first and then its refunds, so that a refund in between is not mistaken for a
   * reversal.
   */
  find: (access, search) =>
    asUnavailable(async (): Promise<FoundRefunds> => {
      const { payment } = search;
      // Partial refunds do not change the status of the payment.
      const verdict = await query(access, { ...payment, isPaid: true });
      const found = await listRefunds(access, search);
      return { refunds: found, isReversed: verdict.kind === 'reversed' && !isCovered(payment, found) };
    }),
};

/** @throws ProviderUnavailable, ProviderRefused */
function readRequest(reply: Reply, refund: RefundRequest): ProviderRefund {
  if (!isAnswered(reply)) {
    if (isTransient(reply)) throw new ProviderUnavailable(`the provider answered ${reply.summary}`);
    throw new ProviderRefused(`the provider refused the refund: ${reply.summary}`);
  }
  const { answer } = reply;
  requireSamePayment(answer, refund.payment);
  const { currency } = refund.payment.amount;
  const reported = readRefund(answer, optionalText(answer, 'currency') ?? currency);
  requireSameAmount(reported.amount, refund.amount);
  return { ...reported, reference: refund.reference };
}

function listRefunds(access: ProviderAccess, search: RefundSearch): Promise<ProviderRefund[]> {
  const { payment } = search;
  return callAuthorized(access, {
    operation: 'refund-query',
    root: rootUrl(access.baseUrl),
    path: `${FOLDER}/status`,
    timeoutMs: QUERY_TIMEOUT_MS,
    body: { paymentId: payment.providerPaymentId, trxId: payment.gatewayTransactionId },
    read: (reply) => readList(reply, search),
    note: (found) => ({
      outcome: refundedMinor(found) > 0n ? 'refunded' : 'not_refunded',
      detail: `refunds: ${found.map(({ detail }) => detail).join('; ') || 'none'}`,
    }),
  });
}

/** @throws ProviderUnavailable */
function readList(reply: Reply, { payment, requested }: RefundSearch): ProviderRefund[] {
  if (!isAnswered(reply)) throw new ProviderUnavailable(`the provider answered ${reply.summary}`);
  const { answer } = reply;
  requireSamePayment(answer, payment);
  const list = answer['refundTransactions'] ?? [];
  if (!Array.isArray(list)) throw new ProviderUnavailable('"refundTransactions" of the answer is not a list');
  const found = list.map((each) => readRefund(readObject(each, 'a refund'), payment.amount.currency));
  for (const { gatewayRefundId, amount } of found) {
    const own = requested.find((each) => each.gatewayRefundId === gatewayRefundId);
    if (own !== undefined) requireSameAmount(amount, own.amount);
  }
  if (refundedMinor(found) > payment.amount.minor) {
    throw new ProviderUnavailable('the provider reports larger refunds than the payment');
  }
  return found;
}

/** Answers of version 2 have no success code. */
function isAnswered(reply: Reply): boolean {
  return reply.status === 200 && (reply.code === undefined || isDone(reply));
}

function requireSamePayment(answer: Answer, payment: SettledPayment): void {
  if (requiredText(answer, 'originalTrxId') !== payment.gatewayTransactionId) {
    throw new ProviderUnavailable('the provider answered about the refunds of another payment');
  }
  const amount = optionalText(answer, 'originalTrxAmount');
  if (amount !== undefined) requireSameAmount(readMoney(amount, payment.amount.currency), payment.amount);
}

function requireSameAmount(reported: Money, expected: Money): void {
  if (sameMoney(reported, expected)) return;
  throw new ProviderUnavailable(`the provider says ${formatMoney(reported)}, not ${formatMoney(expected)}`);
}

/** Reads the fields that the answer to a request and the entries of the list have in common. */
function readRefund(answer: Answer, currency: string): ProviderRefund {
  const status = requiredText(answer, 'refundTransactionStatus');
  const amount = readMoney(requiredText(answer, 'refundAmount'), currency);
  return {
    kind: 'refund',
    gatewayRefundId: requiredId(answer, 'refundTrxId'),
    amount,
    // An unknown status is not final.
    state: STATES.get(status) ?? 'pending',
    detail: `the provider says ${status}: ${formatMoney(amount)}`,
  };
}
