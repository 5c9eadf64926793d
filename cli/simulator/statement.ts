// The statements of the simulated providers: CSV with the columns of the profiles of `usage reconcile`.
import { csvLine } from '../output/csv.ts';
import { type Amount, formatAmount, inTaka, lessProviderFee } from './amount.ts';
import type { Controls, SimulatedPayment, SimulatedRefund } from './controls.ts';
import type { SimulatedDispute } from './stripe/account.ts';

type Gateway = SimulatedPayment['gateway'];

type Moves = SimulatedPayment & {
  readonly proofs: readonly string[];
  /** Those that are complete. */
  readonly refunds: readonly SimulatedRefund[];
  readonly disputes: readonly SimulatedDispute[];
};

/** The payments, refunds and reversals of a provider, by payment. */
export function statementOf(
  controls: Pick<Controls, 'payments' | 'proofs' | 'refunds' | 'stripe'>,
  gateway: Gateway,
): string {
  const refunds = Map.groupBy(
    controls.refunds().filter(({ state }) => state === 'refunded'),
    ({ ref }) => ref,
  );
  const disputes = Map.groupBy(controls.stripe.disputes(), ({ ref }) => ref);
  const lines = controls
    .payments()
    .filter((payment) => payment.gateway === gateway && payment.executions > 0)
    .map((payment) => ({
      ...payment,
      proofs: controls.proofs(payment.ref),
      refunds: refunds.get(payment.ref) ?? [],
      disputes: disputes.get(payment.ref) ?? [],
    }))
    .flatMap(LINES[gateway]);
  return [`${HEADERS[gateway]}\r\n`, ...lines.map(csvLine)].join('');
}

const LINES: Readonly<Record<Gateway, (moves: Moves) => readonly (readonly string[])[]>> = {
  gateway_one: linesOfOne,
  gateway_two: linesOfTwo,
  stripe: linesOfStripe,
};

const HEADERS: Readonly<Record<Gateway, string>> = {
  gateway_one:
    'tran_id,val_id,refund_ref_id,tran_date,type,status,' +
    'currency_amount,currency_type,amount,store_amount,currency',
  gateway_two:
    'Transaction ID,Original Transaction ID,Merchant Invoice Number,Transaction Date,Transaction Type,' +
    'Transacted Amount,Currency',
  stripe: 'source_id,payment_intent_id,created_utc,reporting_category,gross,fee,net,currency',
};

function linesOfOne({ merchantTransactionId, amount, state, createdAt, proofs, refunds }: Moves) {
  const line = (
    type: string,
    status: string,
    moved: Amount,
    proof: string,
    refundId = '',
    at = createdAt,
  ) => {
    const taka = inTaka(moved).amount;
    return [
      merchantTransactionId,
      proof,
      refundId,
      inDhaka(at),
      type,
      status,
      formatAmount(moved),
      moved.currency,
      formatAmount(taka),
      type === 'payment' ? formatAmount(lessProviderFee(taka)) : '',
      taka.currency,
    ];
  };
  return [
    ...proofs.map((proof) => line('payment', 'VALID', amount, proof)),
    ...refunds.map((refund) =>
      line('refund', 'REFUNDED', refund.amount, refund.proof, refund.id, refund.createdAt),
    ),
    ...(state === 'reversed'
      ? proofs.slice(-1).map((proof) => line('reversal', 'REVERSED', left(amount, refunds), proof))
      : []),
  ];
}

function linesOfTwo({ merchantTransactionId, proof = '', amount, state, createdAt, refunds }: Moves) {
  const line = (type: string, moved: Amount, id: string, original = '', at = createdAt) => [
    id,
    original,
    merchantTransactionId,
    inDhaka(at),
    type,
    formatAmount(moved),
    moved.currency,
  ];
  return [
    line('Payment', amount, proof),
    ...refunds.map((refund) => line('Refund', refund.amount, refund.id, proof, refund.createdAt)),
    ...(state === 'reversed' ? [line('Reversal', left(amount, refunds), `R${proof}`, proof)] : []),
  ];
}

/** As in Stripe's report of the changes of the balance. */
function linesOfStripe({ ref, proof = '', amount, createdAt, refunds, disputes }: Moves) {
  const line = (
    id: string,
    category: string,
    moved: [gross: string, fee: string, net: string],
    at = createdAt,
  ) => [
    id,
    proof,
    at.toISOString().slice(0, 19).replace('T', ' '),
    category,
    ...moved,
    amount.currency.toLowerCase(),
  ];
  const net = lessProviderFee(amount);
  const fee = { ...amount, minor: amount.minor - net.minor };
  const nothing = formatAmount({ ...amount, minor: 0n });
  const free = (moved: string): [string, string, string] => [moved, nothing, moved];
  return [
    line(`ch_${ref.slice('cs_'.length)}`, 'charge', [
      formatAmount(amount),
      formatAmount(fee),
      formatAmount(net),
    ]),
    ...refunds.map((refund) =>
      line(refund.id, 'refund', free(`-${formatAmount(refund.amount)}`), refund.createdAt),
    ),
    // Stripe takes the money when the dispute is opened.
    ...disputes.map(({ id, amount: taken, at }) => line(id, 'dispute', free(`-${formatAmount(taken)}`), at)),
    ...disputes
      .filter(({ status }) => status === 'won')
      .map(({ id, amount: taken, at }) => line(id, 'dispute_reversal', free(formatAmount(taken)), at)),
  ];
}

/** What a reversal takes back. */
function left({ minor, currency }: Amount, refunds: readonly SimulatedRefund[]): Amount {
  return { minor: refunds.reduce((rest, { amount }) => rest - amount.minor, minor), currency };
}

const DHAKA_MS = 6 * 3_600_000;

/** The providers write local times. */
function inDhaka(time: Date): string {
  return new Date(time.getTime() + DHAKA_MS).toISOString().slice(0, 19).replace('T', ' ');
}
