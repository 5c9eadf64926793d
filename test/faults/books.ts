// Compares the hub's books with the provider's, row by row, and says everything that is not as it has to be.
import type { SimulatedPayment } from '../../cli/simulator/controls.ts';
import { query } from '../support/postgres.ts';
import { FEE_RULES } from './cluster.ts';
import type { Passage } from './front-door.ts';

export type Books = {
  readonly databaseUrl: string;
  /** The provider's. */
  readonly payments: readonly SimulatedPayment[];
  /** The callbacks that came through the door. */
  readonly passages: readonly Passage[];
};

/** What has to be true once everything has come to rest; an empty list if it is. */
export async function discrepancies({ databaseUrl, payments, passages }: Books): Promise<string[]> {
  const sessions = await readSessions(databaseUrl);
  const callbacks = await readCallbacks(databaseUrl);
  const byTransaction = Map.groupBy(payments, ({ merchantTransactionId }) => merchantTransactionId);
  return [
    ...sessions.flatMap((session) =>
      sessionTrouble(session, byTransaction.get(session.merchantTransactionId) ?? []),
    ),
    ...callbackTrouble(callbacks, passages),
    ...totalsTrouble(sessions, payments),
  ];
}

export type BookedSession = {
  readonly id: string;
  readonly gateway: string;
  readonly merchantTransactionId: string;
  readonly providerPaymentId: string | null;
  readonly status: string;
  readonly minor: string;
  readonly currency: string;
  /** The usage log; null if there is none. */
  readonly proof: string | null;
  readonly usageMinor: string | null;
  readonly usageCurrency: string | null;
  readonly isReversed: boolean;
  readonly feeTotal: string | null;
  readonly feeLines: readonly { readonly rule: string; readonly minor: number }[];
  /** How its status changed, as the audit log has it, in any order: `pending>success`. */
  readonly changes: readonly string[];
};

export function readSessions(databaseUrl: string): Promise<BookedSession[]> {
  return query<BookedSession>(
    databaseUrl,
    `select c.id, s.gateway, c.merchant_transaction_id as "merchantTransactionId",
            c.provider_payment_id as "providerPaymentId", c.status, c.amount_minor as minor, c.currency,
            u.gateway_transaction_id as proof, u.amount_minor as "usageMinor", u.currency as "usageCurrency",
            u.reversed_at is not null as "isReversed", u.fee_total_minor as "feeTotal",
            (select coalesce(json_agg(json_build_object('rule', f.rule, 'minor', f.amount_minor) order by f.rule), '[]')
             from fee_line f where f.usage_log_id = u.id) as "feeLines",
            coalesce(changes.list, '{}') as changes
     from charge_session c join slot s on s.id = c.slot_id left join usage_log u on u.id = c.id
     left join (select subject, array_agg(concat(before->>'status', '>', after->>'status')) as list
                from audit_entry where action = 'charge_session.settle' group by subject) changes
            on changes.subject = 'chs_' || lower(c.merchant_transaction_id)`,
  );
}

function sessionTrouble(session: BookedSession, payments: readonly SimulatedPayment[]): string[] {
  const { merchantTransactionId, gateway, status, proof, isReversed } = session;
  const own = payments.filter((payment) => payment.gateway === gateway);
  const paid = own.filter(({ state }) => state === 'paid');
  const told: string[] = [];
  const expect = (holds: boolean, what: string): void => {
    if (holds) return;
    const at = own.map(({ ref, state, executions }) => `${ref} ${state}, moved ${executions} times`);
    told.push(`session ${merchantTransactionId} at ${gateway} is ${status}: ${what} (${at.join('; ')})`);
  };
  expect(paid.length <= 1 && own.every(({ executions }) => executions <= 1), 'money moved more than once');
  expect(
    (status === 'success') === (paid.length === 1),
    'success and paid at the provider have to go together',
  );
  expect((status === 'success') === (proof !== null && !isReversed), 'success and a usage log go together');
  const won = session.changes.filter((change) => change.endsWith('>success')).length;
  const left = session.changes.filter((change) => change.startsWith('success>')).length;
  const mayLeave = own.some(({ state }) => state === 'reversed');
  expect(won <= 1 && (left === 0 || mayLeave), `its status went ${session.changes.join(', ')}`);
  const [payment] = paid;
  if (status === 'success' && payment !== undefined) {
    expect(payment.ref === session.providerPaymentId, 'another payment than its own was paid');
    expect(payment.proof === proof, `the usage log names ${proof}, the provider ${payment.proof}`);
    expect(
      session.usageMinor === `${payment.amount.minor}` && session.usageCurrency === payment.amount.currency,
      `the usage log has ${session.usageMinor} ${session.usageCurrency}`,
    );
    expect(session.minor === session.usageMinor, `the session is about ${session.minor}`);
  }
  if (proof !== null) expect(feesAreRight(session), `fee lines ${JSON.stringify(session.feeLines)}`);
  return told;
}

/** One line for each rule, and their sum, computed here once more. */
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
  readonly passage: string | null;
};

function readCallbacks(databaseUrl: string): Promise<BookedCallback[]> {
  return query<BookedCallback>(
    databaseUrl,
    `select id, state, reason, fields->>'passage' as passage from callback`,
  );
}

/** Whoever was answered 200 is in the journal, once; and of everything in the journal something has come. */
function callbackTrouble(callbacks: readonly BookedCallback[], passages: readonly Passage[]): string[] {
  const unfinished = callbacks.filter(({ state }) => state === 'received');
  const journaled = Map.groupBy(callbacks, ({ passage }) => passage);
  const answered = passages.filter(({ status }) => status === 200);
  const lost = answered.filter(({ number }) => !journaled.has(`${number}`));
  const twice = [...journaled].filter(([, rows]) => rows.length > 1);
  return [
    ...unfinished.map(({ id, reason }) => `callback ${id} is still received: ${reason}`),
    ...lost.map(({ number }) => `callback ${number} was answered 200 and is not in the journal`),
    ...twice.map(([passage, rows]) => `callback ${passage} is in the journal ${rows.length} times`),
  ];
}

function totalsTrouble(sessions: readonly BookedSession[], payments: readonly SimulatedPayment[]): string[] {
  const ours = totalsByCurrency(
    sessions.flatMap(({ usageMinor, usageCurrency, isReversed }) =>
      usageMinor === null || usageCurrency === null || isReversed
        ? []
        : [{ minor: BigInt(usageMinor), currency: usageCurrency }],
    ),
  );
  const theirs = totalsByCurrency(
    payments.filter(({ state }) => state === 'paid').map(({ amount }) => amount),
  );
  return ours === theirs
    ? []
    : [`usage logs sum up to ${ours || 'nothing'}, the provider's payments to ${theirs}`];
}

/** `1234 BDT, 56 USD`: minor units. */
export function totalsByCurrency(amounts: readonly { minor: bigint; currency: string }[]): string {
  const totals = new Map<string, bigint>();
  for (const { minor, currency } of amounts) totals.set(currency, (totals.get(currency) ?? 0n) + minor);
  return [...totals]
    .sort()
    .map(([currency, minor]) => `${minor} ${currency}`)
    .join(', ');
}
