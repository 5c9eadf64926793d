// Finds the payments of a session at gateway_two. It has no list, so this queries each payment id named by a
// callback.
import {
  type FoundPayment,
  type FoundPayments,
  type PaymentSearch,
  type ProviderAccess,
  ProviderUnavailable,
} from '../driver.ts';
import { readMoney, requiredId, requiredText } from '../driver-calls.ts';
import { invoiceOf, isCompleted, isDone, isFinal, paymentIdOf, type Reply } from './answers.ts';
import { asUnavailable, callAuthorized } from './calls.ts';

const QUERY_TIMEOUT_MS = 15_000;

/**
 * Only payments that callbacks claim; the session's own settled it. Sends queries only and executes nothing.
 * Each id is judged on its own, because a forged one may get any answer.
 */
export async function findPayments(access: ProviderAccess, search: PaymentSearch): Promise<FoundPayments> {
  const payments: FoundPayment[] = [];
  const unanswered = new Map<string, string>();
  for (const id of search.claimedPaymentIds) {
    try {
      const payment = await asUnavailable(() => query(access, search, id));
      if (payment !== undefined) payments.push(payment);
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error;
      unanswered.set(id, error.message);
    }
  }
  return { payments, unanswered };
}

function query(access: ProviderAccess, search: PaymentSearch, id: string): Promise<FoundPayment | undefined> {
  return callAuthorized(access, {
    operation: 'query',
    path: '/payment/status',
    timeoutMs: QUERY_TIMEOUT_MS,
    body: { [access.options['paymentIdField'] ?? 'paymentId']: id },
    read: (reply) => readPayment(reply, search, id),
    note: (payment) =>
      payment
        ? { outcome: 'paid', detail: `the payment ${id} is valid` }
        : { outcome: 'pending', detail: `the payment ${id} is not a valid payment of this session` },
  });
}

/** Only a completed payment whose invoice is the session's counts. */
export function readPayment(reply: Reply, search: PaymentSearch, id: string): FoundPayment | undefined {
  const { answer, summary } = reply;
  if (isFinal(reply)) return undefined;
  if (!isDone(reply)) throw new ProviderUnavailable(`the provider answered ${summary}`);
  if (paymentIdOf(answer) !== id)
    throw new ProviderUnavailable('the provider answered about another payment');
  if (!isCompleted(answer) || invoiceOf(answer) !== search.merchantTransactionId) return undefined;
  return {
    gatewayTransactionId: requiredId(answer, 'trxID'),
    providerPaymentId: id,
    amount: readMoney(requiredText(answer, 'amount'), requiredText(answer, 'currency')),
  };
}
