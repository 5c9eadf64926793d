// Finds the payments of a session at gateway_one: the query by transaction id lists every attempt to pay.
import { type FoundPayment, type PaymentDriver, type PaymentSearch, ProviderUnavailable } from '../driver.ts';
import {
  type Answer,
  optionalId,
  readObject,
  recordStep,
  requiredId,
  requiredText,
} from '../driver-calls.ts';
import { amountOf, elementsOf, QUERY_PATH, requireConnected, STANDING, sendQuery } from './verify-payment.ts';

export const findPayments: PaymentDriver['findPayments'] = (access, search) =>
  recordStep(
    access,
    'query',
    async () => {
      const answer = await sendQuery(access, QUERY_PATH, { tran_id: search.merchantTransactionId });
      return { payments: readPayments(answer, search), unanswered: new Map() };
    },
    ({ payments }) => ({
      outcome: payments.length > 0 ? 'paid' : 'pending',
      detail: `valid payments: ${payments.length}`,
    }),
  );

type SessionIds = Omit<PaymentSearch, 'claimedPaymentIds'>;

/** @throws ProviderUnavailable, also if a payment that stands is unreadable, because it may be unknown */
export function readPayments(answer: Answer, search: SessionIds): FoundPayment[] {
  requireConnected(answer);
  return elementsOf(answer)
    .map((element) => readObject(element, 'a transaction'))
    .filter((transaction) => STANDING.has(requiredText(transaction, 'status')))
    .map((transaction) => readPayment(transaction, search));
}

function readPayment(transaction: Answer, search: SessionIds): FoundPayment {
  if (requiredText(transaction, 'tran_id') !== search.merchantTransactionId) {
    throw new ProviderUnavailable('the provider answered about another transaction');
  }
  const bankTransactionId = optionalId(transaction, 'bank_tran_id');
  return {
    gatewayTransactionId: requiredId(transaction, 'val_id'),
    ...(bankTransactionId && { bankTransactionId }),
    providerPaymentId: optionalId(transaction, 'sessionkey') ?? search.providerPaymentId,
    amount: amountOf(transaction),
  };
}
