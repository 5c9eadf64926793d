// gateway_one's refunds: the request by the bank's id of the payment, and the query by the id of the refund.
import { parseAmount } from '../amount.ts';
import type { Ledger } from '../ledger.ts';
import { SimulatorError } from '../payment.ts';
import { type Call, type JsonAnswer, type Operation, ok } from '../provider.ts';
import { type RefundOrder, refundFaults } from '../refunds.ts';
import { providerTime } from './notification.ts';

const PATH = '/validator/api/merchantTransIDvalidationAPI.php';
const INVALID: JsonAnswer = ok({ APIConnect: 'INVALID_REQUEST' });
/** The store's currency, which refunds are in. */
const CURRENCY = 'BDT';

/** @param isStore Whether the parameters contain the store's credentials. */
export function refundOperations(
  ledger: Ledger,
  isStore: (fields: URLSearchParams) => boolean,
): readonly Operation[] {
  const { refunds } = ledger;
  const ofBankId = ({ query }: Call) => ledger.byBankId(query.get('bank_tran_id') ?? '');
  const ofRefundId = ({ query }: Call) => refunds.byId(query.get('refund_ref_id') ?? '');

  const request = (call: Call, progress?: RefundOrder['progress']): JsonAnswer => {
    const { query } = call;
    if (!isStore(query)) return INVALID;
    const text = (name: string) => query.get(name) ?? '';
    const found = ofBankId(call);
    if (found === undefined) return failed('Invalid bank_tran_id');
    const reference = text('refund_trans_id');
    if (reference === '' || text('refund_remarks') === '') return failed('A mandatory parameter is missing');
    const { payment, proof } = found;
    const accepted = (status: string, refund_ref_id: string): JsonAnswer =>
      ok({
        APIConnect: 'DONE',
        bank_tran_id: text('bank_tran_id'),
        trans_id: payment.merchantTransactionId,
        refund_ref_id,
        status,
        errorReason: '',
      });
    const earlier = refunds.byReference(payment, reference);
    if (earlier !== undefined) return accepted('processing', earlier.id);
    const amount = parseAmount(text('refund_amount'), CURRENCY);
    if (amount === undefined) return failed('Invalid refund_amount');
    try {
      const order = { proof, reference, amount, reason: text('refund_remarks'), progress };
      return accepted('success', refunds.make(payment, order).id);
    } catch (error) {
      if (error instanceof SimulatorError) return failed(error.message);
      throw error;
    }
  };

  const query = (call: Call): JsonAnswer => {
    if (!isStore(call.query)) return INVALID;
    const refund = ofRefundId(call);
    if (refund?.payment.gateway !== 'gateway_one') return failed('Invalid refund_ref_id');
    const { payment, proof, id, createdAt, end } = refund;
    const bankId = payment.attempts.find((attempt) => attempt.proof === proof)?.bankId ?? '';
    const status = refunds.stateOf(refund);
    return ok({
      APIConnect: 'DONE',
      bank_tran_id: bankId,
      tran_id: payment.merchantTransactionId,
      refund_ref_id: id,
      initiated_on: providerTime(createdAt),
      ...(status === 'refunded' && { refunded_on: providerTime(new Date(end.atMs)) }),
      status,
      errorReason: '',
    });
  };

  return [
    {
      name: 'gateway_one.refund',
      at: `GET ${PATH}`,
      matches: (call) => call.query.has('refund_amount'),
      find: (call) => ofBankId(call)?.payment,
      answer: request,
      faults: refundFaults(failed('Refund is not allowed'), request),
    },
    {
      name: 'gateway_one.refund_query',
      at: `GET ${PATH}`,
      matches: (call) => call.query.has('refund_ref_id'),
      find: (call) => ofRefundId(call)?.payment,
      answer: query,
    },
  ];
}

function failed(errorReason: string): JsonAnswer {
  return ok({ APIConnect: 'DONE', status: 'failed', refund_ref_id: '', errorReason });
}
