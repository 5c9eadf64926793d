// Refunds of gateway_one.
//
// From the provider's public documentation: the path and the parameters, `bank_tran_id`, the statuses of a
// request (`success`, `failed`, and `processing` for a refund that was requested before) and of a query by
// `refund_ref_id` (`refunded`, `processing`, `cancelled`). From public integrations: `refund_trans_id`, the
// merchant's id of the refund, which the provider now requires.
//
// The provider does not list the refunds of a payment, does not find a refund by the merchant's id, and does
// not report the amount of a refund. To find a refund whose answer was lost, the driver repeats the request:
// the provider answers `processing`. The hub does not learn of a partial refund in the merchant panel.
// The transaction query reports a refund of the whole payment.
import { formatDecimal, formatMoney } from '../../money.ts';
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
import { type Answer, optionalText, recordStep, requiredId, requiredText } from '../driver-calls.ts';
import { describeRefund, isCovered } from '../reported-refunds.ts';
import { readPayments } from './find-payments.ts';
import { QUERY_PATH, query, requireConnected, sendQuery } from './verify-payment.ts';

const REQUEST_TIMEOUT_MS = 30_000;
const MAX_REMARKS_CHARACTERS = 255;
/** The currency of the stores. The provider converts payments in others to it. */
const STORE_CURRENCY = 'BDT';

const STATES: ReadonlyMap<string, ProviderRefund['state']> = new Map([
  ['refunded', 'succeeded'],
  ['processing', 'pending'],
  ['cancelled', 'failed'],
]);

export const refunds: RefundCalls = {
  async request(access, refund) {
    const { payment, reference, amount, reason } = refund;
    if (amount.currency !== STORE_CURRENCY) {
      throw new ProviderRefused(
        'the provider does not document the currency in which it refunds ' +
          `a converted payment in ${amount.currency}: ` +
          'refund it in the merchant panel',
      );
    }
    const parameters = {
      bank_tran_id: payment.bankTransactionId ?? (await findBankId(access, payment)),
      refund_trans_id: reference,
      refe_id: reference,
      refund_amount: formatDecimal(amount),
      refund_remarks: reason.slice(0, MAX_REMARKS_CHARACTERS),
    };
    const send = async () =>
      readRequest(await sendQuery(access, QUERY_PATH, parameters, REQUEST_TIMEOUT_MS), refund);
    return recordStep(access, 'refund', send, describeRefund, 'not_refunded');
  },

  /**
   * Queries the payment first and then its refunds, so that a refund in between is not mistaken for a
   * reversal. Does not find refunds without the provider's id: request these again.
   */
  async find(access, { payment, requested }): Promise<FoundRefunds> {
    // The transaction query does not report partial refunds.
    const verdict = await query(access, { ...payment, isPaid: true });
    const found: ProviderRefund[] = [];
    for (const { gatewayRefundId, ...refund } of requested) {
      if (gatewayRefundId !== undefined)
        found.push(await queryRefund(access, payment, { ...refund, gatewayRefundId }));
    }
    return { refunds: found, isReversed: verdict.kind === 'reversed' && !isCovered(payment, found) };
  },
};

/** @throws ProviderUnavailable, ProviderRefused */
function readRequest(answer: Answer, { payment, reference, amount }: RefundRequest): ProviderRefund {
  // Not a refusal: an earlier request may have been accepted.
  requireConnected(answer);
  const status = requiredText(answer, 'status');
  if (status === 'failed') {
    const reason = optionalText(answer, 'errorReason') ?? 'no reason given';
    throw new ProviderRefused(`the provider refused the refund: ${reason}`);
  }
  if (status !== 'success' && status !== 'processing') {
    throw new ProviderUnavailable(`the provider answered the refund with the status ${status}`);
  }
  requireSamePayment(answer, payment);
  return {
    kind: 'refund',
    gatewayRefundId: requiredId(answer, 'refund_ref_id'),
    reference,
    amount,
    // `success` means that the refund was accepted. Only the query says that it was made.
    state: 'pending',
    detail: `the provider says ${status}: a refund of ${formatMoney(amount)} is in progress`,
  };
}

type KnownRefund = RefundSearch['requested'][number] & { readonly gatewayRefundId: string };

function queryRefund(
  access: ProviderAccess,
  payment: SettledPayment,
  refund: KnownRefund,
): Promise<ProviderRefund> {
  const about = { refund_ref_id: refund.gatewayRefundId };
  const judge = async () => readRefund(await sendQuery(access, QUERY_PATH, about), payment, refund);
  return recordStep(access, 'refund-query', judge, describeRefund);
}

/** @throws ProviderUnavailable */
function readRefund(
  answer: Answer,
  payment: SettledPayment,
  { gatewayRefundId, reference, amount }: KnownRefund,
): ProviderRefund {
  requireConnected(answer);
  const status = requiredText(answer, 'status');
  const state = STATES.get(status);
  if (state === undefined) throw new ProviderUnavailable(`the provider says ${status} of the refund`);
  if (requiredId(answer, 'refund_ref_id') !== gatewayRefundId) {
    throw new ProviderUnavailable('the provider answered about another refund');
  }
  requireSamePayment(answer, payment);
  // The answer has no amount: the provider refunds what was requested under this id.
  const detail = `the provider says ${status}: ${formatMoney(amount)}`;
  return { kind: 'refund', gatewayRefundId, reference, amount, state, detail };
}

/** The answers name the payment by the bank's id, and the query by `tran_id` too. */
function requireSamePayment(answer: Answer, payment: SettledPayment): void {
  const { bankTransactionId, merchantTransactionId } = payment;
  const bankId = optionalText(answer, 'bank_tran_id');
  const transactionId = optionalText(answer, 'tran_id');
  const isOther =
    (bankId !== undefined && bankTransactionId !== undefined && bankId !== bankTransactionId) ||
    (transactionId !== undefined && transactionId !== merchantTransactionId);
  if (isOther) throw new ProviderUnavailable('the provider answered about the refund of another payment');
}

/** Reads the bank's id of a payment that was settled without one. @throws ProviderUnavailable */
function findBankId(access: ProviderAccess, payment: SettledPayment): Promise<string> {
  const { merchantTransactionId, gatewayTransactionId } = payment;
  const read = async () => {
    const answer = await sendQuery(access, QUERY_PATH, { tran_id: merchantTransactionId });
    const own = readPayments(answer, payment).find(
      (each) => each.gatewayTransactionId === gatewayTransactionId,
    );
    if (own?.bankTransactionId !== undefined) return own.bankTransactionId;
    throw new ProviderUnavailable("the provider does not report the bank's id of the payment");
  };
  const describeId = () => ({ outcome: 'paid', detail: "the provider reports the bank's id" }) as const;
  return recordStep(access, 'query', read, describeId);
}
