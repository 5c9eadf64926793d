// Finds the payments of a session at gateway_two. It has no list, so this queries each payment id named by a
// callback.
import {
  type FoundPayment,
  type FoundPayments,
  type PaymentSearch,
  type ProviderAccess,
  ProviderUnavailable,
} from '../driver.ts';
import { asUnavailable, findClaimed, readMoney, requiredId, requiredText } from '../driver-calls.ts';
import { invoiceOf, isCompleted, isDone, isFinal, paymentIdOf, type Reply } from './answers.ts';
import { queryPayment } from './calls.ts';

/** The session's own payment settled it. Sends queries only and executes nothing. */
export function findPayments(access: ProviderAccess, search: PaymentSearch): Promise<FoundPayments> {
  return findClaimed(search, (id) => asUnavailable(() => query(access, search, id)));
}

function query(access: ProviderAccess, search: PaymentSearch, id: string): Promise<FoundPayment | undefined> {
  return queryPayment(access, id, {
    read: (reply) => readPayment(reply, search, id),
    note: (payment) =>
      payment
        ? { outcome: 'paid', detail: `the payment ${id} is valid` }
        : { outcome: 'pending', detail: `the payment ${id} is not a valid payment of this session` },
  });
}

/** Only a completed payment whose invoice is the session's counts. */
function readPayment(reply: Reply, search: PaymentSearch, id: string): FoundPayment | undefined {
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
