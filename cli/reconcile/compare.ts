// Compares the entries of the usage log with the lines of a statement.
import type { UsageView } from '../views/payments/usage.ts';
import type { StatementLine } from './read-statement.ts';
import { amountOf, type StatementIndex } from './statement-index.ts';

/** The entries and lines from `from` on and before `to`, in milliseconds since 1970. */
export type ComparedPeriod = { readonly from: number; readonly to: number; readonly toleranceMs: number };

/** The fee of an entry: what the provider reported with the payment, the hub's fee lines, or no fee. */
export type FeeSource = 'provider' | 'rules' | 'none';

export type Difference = {
  readonly field: 'amount' | 'currency' | 'fee';
  readonly line: number;
  readonly entry: UsageView;
  /** In minor units. Fees are in the currency of the payment. */
  readonly here: { readonly minor: bigint; readonly currency: string };
  readonly there: { readonly minor: bigint; readonly currency: string };
};

/** Keeps the first items, and counts all. */
export class BoundedList<T> {
  readonly listed: T[] = [];
  count = 0;

  add(item: T): void {
    this.count += 1;
    if (this.listed.length < MAX_LISTED) this.listed.push(item);
  }
}

const MAX_LISTED = 10_000;

export type Comparison = ReturnType<typeof emptyComparison>;

export function emptyComparison() {
  return {
    /** Entries without a difference. */
    matched: 0,
    /** Lines without an entry. */
    missingHere: new BoundedList<StatementLine>(),
    /** Entries without a line. */
    missingThere: new BoundedList<UsageView>(),
    differs: new BoundedList<Difference>(),
    /** Entries without a line near an end of the period: the next or previous statement may have them. */
    atEdge: new BoundedList<UsageView>(),
    /** Payments whose entry or line has no fee. */
    feesNotCompared: 0,
  };
}

/** Compares an entry with its line. An entry outside of the period is compared, but not reported as missing. */
export function compareEntry(
  into: Comparison,
  statement: StatementIndex,
  entry: UsageView,
  { from, to, toleranceMs, fees }: ComparedPeriod & { readonly fees: FeeSource },
): void {
  const line = statement.takeLine(entry);
  if (line === undefined) {
    const at = Date.parse(entry.settledAt);
    if (at < from || at >= to) return;
    const isAtEdge = at < from + toleranceMs || at >= to - toleranceMs;
    (isAtEdge ? into.atEdge : into.missingThere).add(entry);
    return;
  }
  const differences = differencesOf(entry, line);
  if (differences.length === 0 && line.kind === 'payment' && fees !== 'none') {
    const [here, there] = [feeHere(entry, fees), statement.feeOf(line)];
    if (here === undefined || there === undefined) into.feesNotCompared += 1;
    else if (here !== there) differences.push(differenceOf(entry, line, 'fee', here, there));
  }
  if (differences.length === 0) into.matched += 1;
  for (const difference of differences) into.differs.add(difference);
}

function differencesOf(entry: UsageView, line: StatementLine): Difference[] {
  if (entry.currency !== line.currency) {
    return [differenceOf(entry, line, 'currency', amountOf(entry), line.minor)];
  }
  if (amountOf(entry) === line.minor) return [];
  return [differenceOf(entry, line, 'amount', amountOf(entry), line.minor)];
}

function differenceOf(
  entry: UsageView,
  { line, currency }: StatementLine,
  field: Difference['field'],
  here: bigint,
  there: bigint,
): Difference {
  const ofEntry = { minor: here, currency: entry.currency };
  return { field, line, entry, here: ofEntry, there: { minor: there, currency } };
}

function feeHere(entry: UsageView, fees: FeeSource): bigint | undefined {
  if (fees === 'rules') return BigInt(entry.feeTotal.minorUnits);
  const { received, minorUnits, currency } = entry;
  return received?.currency === currency ? BigInt(minorUnits - received.minorUnits) : undefined;
}

/** Adds the lines that match no entry. Lines outside of the period belong to another statement. */
export function addUnmatched(
  into: Comparison,
  statement: StatementIndex,
  { from, to }: ComparedPeriod,
): void {
  for (const line of statement.unmatched()) {
    if (line.at === undefined || (line.at >= from && line.at < to)) into.missingHere.add(line);
  }
}
