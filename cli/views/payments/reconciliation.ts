// JSON schema and columns of the comparison of the usage log with a statement.
import { type Column, columnsOf } from '../../output/table.ts';
import type { Comparison, Difference } from '../../reconcile/compare.ts';
import type { StatementLine } from '../../reconcile/read-statement.ts';
import * as json from '../schema.ts';
import { MONEY, moneyText, moneyView } from './money.ts';
import { USAGE_LOG } from './usage.ts';

const STATEMENT_LINE = json.object('StatementLine', {
  line: json.integer('line of the file'),
  kind: json.oneOf(['payment', 'refund', 'reversal', 'returned'], 'what the line is'),
  id: json.optional(json.text("the provider's id of the line")),
  payment: json.optional(json.text("the provider's id of the payment")),
  reference: json.optional(json.text('the transaction id that the hub gave the provider')),
  ...MONEY.properties,
  at: json.optional(json.time('the time on the line')),
});

const DIFFERENCE = json.object('Difference', {
  field: json.oneOf(['amount', 'currency', 'fee'], 'what differs'),
  line: json.integer('line of the file'),
  usageLogId: json.id('use', 'the entry of the usage log'),
  sessionId: json.id('chs', 'its session'),
  gatewayTransactionId: json.text("the provider's id"),
  here: json.withDescription(MONEY, "the hub's value; for a currency the whole amount"),
  there: json.withDescription(MONEY, "the statement's value"),
});
type DifferenceView = json.ValueOf<typeof DIFFERENCE>;

export const RECONCILIATION = json.object('Reconciliation', {
  agrees: json.boolean('whether missingHere, missingThere and differs are empty'),
  matched: json.integer('entries of the usage log that agree with a line of the statement'),
  missingHere: json.list(STATEMENT_LINE, 'lines without an entry in the usage log, at most 10000'),
  missingThere: json.list(USAGE_LOG, 'entries without a line in the statement, at most 10000'),
  differs: json.list(DIFFERENCE, 'entries whose line has other values, at most 10000'),
  atEdge: json.list(USAGE_LOG, 'entries without a line that the next or previous statement may have'),
  missingHereCount: json.integer('number of lines without an entry'),
  missingThereCount: json.integer('number of entries without a line'),
  differsCount: json.integer('number of values that differ'),
  atEdgeCount: json.integer('number of entries in atEdge'),
  feesNotCompared: json.integer('payments of which the statement or the hub has no fee'),
  lines: json.integer('lines of the statement that were compared'),
  ignoredLines: json.integer('lines that are no payment, refund, reversal or fee, such as payouts'),
  from: json.time('start of the period'),
  to: json.time('end of the period, exclusive'),
});
export type ReconciliationView = json.ValueOf<typeof RECONCILIATION>;

type About = Pick<ReconciliationView, 'lines' | 'ignoredLines'> & {
  readonly from: number;
  readonly to: number;
};

export function reconciliationView(found: Comparison, about: About): ReconciliationView {
  const { missingHere, missingThere, differs, atEdge } = found;
  return {
    agrees: missingHere.count + missingThere.count + differs.count === 0,
    matched: found.matched,
    missingHere: missingHere.listed.map(lineView),
    missingThere: missingThere.listed,
    differs: differs.listed.map(differenceView),
    atEdge: atEdge.listed,
    missingHereCount: missingHere.count,
    missingThereCount: missingThere.count,
    differsCount: differs.count,
    atEdgeCount: atEdge.count,
    feesNotCompared: found.feesNotCompared,
    lines: about.lines,
    ignoredLines: about.ignoredLines,
    from: new Date(about.from).toISOString(),
    to: new Date(about.to).toISOString(),
  };
}

function lineView(line: StatementLine): json.ValueOf<typeof STATEMENT_LINE> {
  const { id, payment, reference, minor, currency, at } = line;
  return {
    line: line.line,
    kind: line.kind === 'fee' ? 'payment' : line.kind, // fees are no lines of their own here
    ...(id !== '' && { id }),
    ...(payment !== '' && { payment }),
    ...(reference !== '' && { reference }),
    ...moneyView({ minorUnits: minor, currency }),
    ...(at !== undefined && { at: new Date(at).toISOString() }),
  };
}

function differenceView({ field, line, entry, here, there }: Difference): DifferenceView {
  const { usageLogId, sessionId, gatewayTransactionId } = entry;
  const money = ({ minor, currency }: Difference['here']) => moneyView({ minorUnits: minor, currency });
  return { field, line, usageLogId, sessionId, gatewayTransactionId, here: money(here), there: money(there) };
}

/** One row of the table for people. */
export type Finding = {
  readonly finding: string;
  readonly line?: number;
  readonly entry?: string;
  readonly providerId: string;
  readonly here?: string;
  readonly there?: string;
};

export const FINDING_COLUMNS: readonly Column<Finding>[] = [
  { title: 'FINDING', cell: ({ finding }) => finding },
  { title: 'LINE', cell: ({ line }) => line, right: true },
  { title: 'USAGE LOG', cell: ({ entry }) => entry },
  { title: 'PROVIDER ID', cell: ({ providerId }) => providerId },
  { title: 'HERE', cell: ({ here }) => here, right: true },
  { title: 'THERE', cell: ({ there }) => there, right: true },
];

export function findingsOf({ missingHere, missingThere, differs, atEdge }: ReconciliationView): Finding[] {
  const unpaired = (finding: string) => (entry: ReconciliationView['atEdge'][number]) => ({
    finding,
    entry: entry.usageLogId,
    providerId: entry.gatewayTransactionId,
    here: moneyText(entry),
  });
  return [
    ...missingHere.map((line) => ({
      finding: 'missing here',
      line: line.line,
      providerId: line.id ?? line.payment ?? line.reference ?? '',
      there: moneyText(line),
    })),
    ...missingThere.map(unpaired('missing there')),
    ...differs.map(({ field, line, usageLogId, gatewayTransactionId, here, there }) => ({
      finding: `${field} differs`,
      line,
      entry: usageLogId,
      providerId: gatewayTransactionId,
      here: moneyText(here),
      there: moneyText(there),
    })),
    ...atEdge.map(unpaired('at the edge')),
  ];
}

export const RECONCILIATION_COLUMNS: readonly Column<ReconciliationView>[] = [
  ...columnsOf(RECONCILIATION, 'matched', { missingHereCount: 'Missing here' }),
  ...columnsOf(RECONCILIATION, { missingThereCount: 'Missing there', differsCount: 'Differences' }),
  ...columnsOf(RECONCILIATION, { atEdgeCount: 'At the edge' }),
  { title: 'Period', cell: ({ from, to }) => `${from} to ${to}` },
];
