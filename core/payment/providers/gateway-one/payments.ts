// All payments of a session at gateway_one: its query by transaction id lists every attempt to pay.
import { type FoundPayment, type PaymentsQuestion, ProviderUnavailable } from '../driver.ts';
import { type Answer, optionalId, readObject, requiredId, requiredText } from '../read-answer.ts';
import { amountOf, elementsOf, requireConnected, STANDING } from './answers.ts';

/**
 * @throws ProviderUnavailable, also if one that stands cannot be read: it may be a payment nobody knows of
 */
export function readPayments(answer: Answer, question: PaymentsQuestion): FoundPayment[] {
  requireConnected(answer);
  return elementsOf(answer)
    .map((element) => readObject(element, 'a transaction'))
    .filter((transaction) => STANDING.has(requiredText(transaction, 'status')))
    .map((transaction) => readPayment(transaction, question));
}

function readPayment(transaction: Answer, question: PaymentsQuestion): FoundPayment {
  if (requiredText(transaction, 'tran_id') !== question.merchantTransactionId) {
    throw new ProviderUnavailable('the provider answered about another transaction');
  }
  const bankTransactionId = optionalId(transaction, 'bank_tran_id');
  return {
    gatewayTransactionId: requiredId(transaction, 'val_id'),
    ...(bankTransactionId && { bankTransactionId }),
    providerPaymentId: optionalId(transaction, 'sessionkey') ?? question.providerPaymentId,
    amount: amountOf(transaction),
  };
}
