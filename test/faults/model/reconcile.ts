// Compares the hub's records with the provider's, row by row, and reports every difference.
import type { SimulatedPayment, SimulatedRefund } from '../../../cli/simulator/controls.ts';
import { OTHER_FIELDS } from '../../../core/payment/providers/registry.ts';
import { query } from '../../support/postgres/databases.ts';
import {
  type BookedDuplicate,
  duplicateTrouble,
  readDuplicates,
  type StandingPayment,
} from '../load/second-payments.ts';
import { FEE_RULES } from '../scenes/cluster.ts';
import type { Passage } from '../scenes/front-door.ts';
import type { BookedSession } from './booked-session.ts';
import { isTakenAway, readRefunds, refundedAmounts, refundedOf, refundTrouble } from './refund-books.ts';

export type Ledgers = {
  readonly databaseUrl: string;
  /** The payments at the provider. */
  readonly payments: readonly SimulatedPayment[];
  /** The refunds at the provider. */
  readonly refunds: readonly SimulatedRefund[];
  /** The valid payments at the provider. A session can have several. */
  readonly standing: readonly StandingPayment[];
  /** The callbacks that came through the front door. */
  readonly passages: readonly Passage[];
};

/** The violated rules after all work has ended. An empty list if there are none. */
export async function discrepancies({
  databaseUrl,
  payments,
  refunds,
  standing,
  passages,
}: Ledgers): Promise<string[]> {
  const sessions = await readSessions(databaseUrl);
  const duplicates = await readDuplicates(databaseUrl);
  const callbacks = await readCallbacks(databaseUrl);
  const byTransaction = Map.groupBy(payments, ({ merchantTransactionId }) => merchantTransactionId);
  const proofs = new Set(standing.map(({ ref, proof }) => `${ref} ${proof}`));
  return [
    ...sessions.flatMap((session) =>
      sessionTrouble(session, byTransaction.get(session.merchantTransactionId) ?? [], { refunds, proofs }),
    ),
    ...refundTrouble(await readRefunds(databaseUrl), refunds, payments),
    ...duplicateTrouble(sessions, duplicates, standing),
    ...callbackTrouble(callbacks, passages),
    ...totalsTrouble(sessions, duplicates, [
      ...standing.map(({ amount }) => amount),
      ...refundedAmounts(refunds, payments),
    ]),
  ];
}

export function readSessions(databaseUrl: string): Promise<BookedSession[]> {
  return query<BookedSession>(
    databaseUrl,
    `select c.id, s.gateway, c.merchant_transaction_id as "merchantTransactionId",
            c.provider_payment_id as "providerPaymentId", c.status, c.amount_minor as minor, c.currency,
            u.gateway_transaction_id as proof, u.amount_minor as "usageMinor", u.currency as "usageCurrency",
            entries.net, entries.reversals, entries.payments,
            entries.reversals >= entries.payments and entries.payments > 0 as "isReversed",
            c.refunded_minor as "refundedMinor", entries.refunded as "refundedInLog",
            u.fee_total_minor as "feeTotal",
            (select coalesce(json_agg(json_build_object('rule', f.rule, 'minor', f.amount_minor) order by f.rule), '[]')
             from fee_line f where f.usage_log_id = u.id) as "feeLines",
            coalesce(changes.list, '{}') as changes
     from charge_session c join slot s on s.id = c.slot_id left join usage_log u on u.id = c.id
     cross join lateral (
       select coalesce(sum(e.amount_minor), 0)::text as net,
              coalesce(-sum(e.amount_minor) filter (where e.kind = 'refund'), 0)::text as refunded,
              count(*) filter (where e.kind = 'reversal')::int as reversals,
              count(*) filter (where e.kind in ('payment', 'later_payment'))::int as payments
       from usage_log e where e.session_id = c.id) entries
     left join (select subject, array_agg(concat(before->>'status', '>', after->>'status')) as list
                from audit_entry where action = 'charge_session.settle' group by subject) changes
            on changes.subject = 'chs_' || lower(c.merchant_transaction_id)`,
  );
}

type ProviderBooks = {
  readonly refunds: readonly SimulatedRefund[];
  /** `ref proof` of the valid payments. */
  readonly proofs: ReadonlySet<string>;
};

function sessionTrouble(
  session: BookedSession,
  payments: readonly SimulatedPayment[],
  { refunds, proofs }: ProviderBooks,
): string[] {
  const { merchantTransactionId, gateway, status, proof, isReversed } = session;
  const own = payments.filter((payment) => payment.gateway === gateway);
  const paid = own.filter((each) => each.state === 'paid' && !isTakenAway(each, refunds));
  const told: string[] = [];
  const expect = (holds: boolean, what: string): void => {
    if (holds) return;
    const at = own.map(({ ref, state, executions }) => `${ref} ${state}, moved ${executions} times`);
    told.push(`session ${merchantTransactionId} at ${gateway} is ${status}: ${what} (${at.join('; ')})`);
  };
  // At gateway_one the customer makes the payment, and may repeat it.
  const moved = own.filter((payment) => payment.gateway === 'gateway_two');
  expect(
    moved.every(({ executions }) => executions <= 1),
    'money moved more than once',
  );
  expect((status === 'success') === paid.length > 0, 'success and paid at the provider have to go together');
  expect((status === 'success') === (proof !== null && !isReversed), 'success and a usage log go together');
  const won = session.changes.filter((change) => change.endsWith('>success')).length;
  const lost = session.changes.filter((change) => change.startsWith('success>')).length;
  const mayLeave = own.some((each) => isTakenAway(each, refunds));
  expect(
    session.payments === won && session.reversals === lost,
    'each change of success is one usage log entry',
  );
  expect(won <= 1 && (lost === 0 || mayLeave), `its status went ${session.changes.join(', ')}`);
  const payment = paid.find(({ ref }) => ref === session.providerPaymentId);
  if (status === 'success') expect(payment !== undefined, 'another payment than its own was paid');
  if (status === 'success' && payment !== undefined) {
    const known = proofs.has(`${payment.ref} ${proof}`);
    expect(known, `the usage log names ${proof}, the provider ${payment.proof}`);
    expect(
      session.usageMinor === `${payment.amount.minor}` && session.usageCurrency === payment.amount.currency,
      `the usage log has ${session.usageMinor} ${session.usageCurrency}`,
    );
    expect(session.minor === session.usageMinor, `the session is about ${session.minor}`);
    expect(session.refundedMinor === session.refundedInLog, `it has refunded ${session.refundedMinor}`);
  }
  const left =
    status === 'success' && payment !== undefined ? payment.amount.minor - refundedOf(payment, refunds) : 0n;
  expect(session.net === `${left}`, `its usage log sums up to ${session.net}, the provider has ${left}`);
  if (proof !== null) expect(feesAreRight(session), `fee lines ${JSON.stringify(session.feeLines)}`);
  return told;
}

/** Checks for one line per rule, and computes their sum again. */
function feesAreRight({ feeLines, feeTotal, minor }: BookedSession): boolean {
  const expected = FEE_RULES.map((rule) => {
    const share = (BigInt(minor) * BigInt(rule.basisPoints) + 5_000n) / 10_000n;
    return `${rule.name} ${share}`;
  });
  const total = feeLines.reduce((sum, line) => sum + BigInt(line.minor), 0n);
  const lines = feeLines.map((line) => `${line.rule} ${line.minor}`);
  return `${lines}` === `${expected}` && `${total}` === feeTotal;
}

type BookedCallback = {
  readonly id: string;
  readonly state: string;
  readonly reason: string;
  /** The mark of its passage through the front door. */
  readonly mark: string | null;
};

function readCallbacks(databaseUrl: string): Promise<BookedCallback[]> {
  return query<BookedCallback>(
    databaseUrl,
    `select id, state, reason, fields->>'${OTHER_FIELDS}' as mark from callback`,
  );
}

/**
 * Each callback with a 200 response must be in the journal exactly once, and each journal entry must be
 * processed.
 */
function callbackTrouble(callbacks: readonly BookedCallback[], passages: readonly Passage[]): string[] {
  const unfinished = callbacks.filter(({ state }) => state === 'received');
  const journaled = Map.groupBy(callbacks, ({ mark }) => mark);
  const answered = passages.filter(({ status }) => status === 200);
  const lost = answered.filter(({ mark }) => mark === undefined || !journaled.has(mark));
  const twice = [...journaled].filter(([, rows]) => rows.length > 1);
  const numberOf = (mark: string | null) => passages.find((passage) => passage.mark === mark)?.number ?? mark;
  return [
    ...unfinished.map(({ id, reason }) => `callback ${id} is still received: ${reason}`),
    ...lost.map(({ number }) => `callback ${number} was answered 200 and is not in the journal`),
    ...twice.map(([mark, rows]) => `callback ${numberOf(mark)} is in the journal ${rows.length} times`),
  ];
}

/** The sum of settled sessions must equal the provider's payments less refunds, without duplicates. */
function totalsTrouble(
  sessions: readonly BookedSession[],
  duplicates: readonly BookedDuplicate[],
  received: readonly { readonly minor: bigint; readonly currency: string }[],
): string[] {
  const ours = totalsByCurrency(
    sessions.filter(({ net }) => net !== '0').map(({ net, currency }) => ({ minor: BigInt(net), currency })),
  );
  const theirs = totalsByCurrency([
    ...received,
    ...duplicates.map(({ minor, currency }) => ({ minor: -BigInt(minor), currency })),
  ]);
  return ours === theirs
    ? []
    : [`usage logs sum up to ${ours || 'nothing'}, the provider's payments to ${theirs}`];
}

/** `1234 BDT, 56 USD`: minor units. */
export function totalsByCurrency(amounts: readonly { minor: bigint; currency: string }[]): string {
  const totals = new Map<string, bigint>();
  for (const { minor, currency } of amounts) totals.set(currency, (totals.get(currency) ?? 0n) + minor);
  return [...totals]
    .filter(([, minor]) => minor !== 0n)
    .sort()
    .map(([currency, minor]) => `${minor} ${currency}`)
    .join(', ');
}
