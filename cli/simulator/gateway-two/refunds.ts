// gateway_two's refunds by version 2 of its API: the request, and the list of a payment's refunds.
import { formatAmount, parseAmount, shortAmount } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { type Payment, SimulatorError } from '../payment.ts';
import { type Call, type JsonAnswer, type Operation, ok } from '../provider.ts';
import { type Refund, type RefundOrder, type RefundState, refundFaults } from '../refunds.ts';
import { parsed, text } from './messages.ts';

const FOLDER = '/v2/tokenized-checkout/refund/payment';

const STATUSES: Readonly<Record<RefundState, string>> = {
  processing: 'Initiated',
  refunded: 'Completed',
  cancelled: 'Failed',
};

/** The caller checks the access token. */
export function refundOperations({ refunds, byRef }: Ledger): readonly Operation[] {
  const find = ({ body }: Call): Payment | undefined => {
    const payment = byRef(text(parsed(body)['paymentId']));
    return payment?.gateway === 'gateway_two' ? payment : undefined;
  };
  /** The paid payment of the call. */
  const findPaid = (call: Call) => {
    const payment = find(call);
    const trxId = text(parsed(call.body)['trxId']);
    return payment?.proof !== undefined && payment.proof === trxId ? { payment, proof: trxId } : undefined;
  };
  const refundFields = (refund: Refund) => ({
    refundTrxId: refund.id,
    refundTransactionStatus: STATUSES[refunds.stateOf(refund)],
    refundAmount: formatAmount(refund.amount),
    completedTime: new Date(refund.end.atMs).toISOString(),
  });

  const request = (call: Call, progress?: RefundOrder['progress']): JsonAnswer => {
    const fields = parsed(call.body);
    const [sku, reason] = [text(fields['sku']), text(fields['reason'])];
    const isTooLong = Math.max(sku.length, reason.length) > 255;
    if (sku === '' || reason === '' || isTooLong)
      return { status: 400, json: { message: 'Invalid request body' } };
    const found = findPaid(call);
    if (found === undefined) return refused('2071', 'Original transaction not found');
    const { payment, proof } = found;
    const { amount: original } = payment;
    const amount = parseAmount(text(fields['refundAmount']), original.currency);
    if (amount === undefined) return refused('2072', 'Refund amount not valid');
    try {
      const refund = refunds.make(payment, { proof, reference: sku, amount, reason, progress });
      const { currency } = original;
      return ok({ ...originalFields(payment), ...refundFields(refund), currency, sku, reason });
    } catch (error) {
      if (error instanceof SimulatorError) return refused('2072', error.message);
      throw error;
    }
  };

  const list = (call: Call): JsonAnswer => {
    const found = findPaid(call);
    if (found === undefined) return refused('2071', 'Original transaction not found');
    const all = refunds.of(found.payment).map(refundFields);
    // A payment without refunds has no list.
    return ok({ ...originalFields(found.payment), ...(all.length > 0 && { refundTransactions: all }) });
  };

  return [
    {
      name: 'gateway_two.refund',
      at: `POST ${FOLDER}/transaction`,
      find,
      answer: request,
      faults: refundFaults(refused('2073', 'Refund is not allowed'), request),
    },
    { name: 'gateway_two.refund_query', at: `POST ${FOLDER}/status`, find, answer: list },
  ];
}

function originalFields({ proof, amount }: Payment) {
  return { originalTrxId: proof, originalTrxAmount: shortAmount(amount) };
}

function refused(externalCode: string, errorMessageEn: string): JsonAnswer {
  return {
    status: 400,
    json: { internalCode: 'refund_error', externalCode, errorMessageEn, errorMessageBn: null },
  };
}
