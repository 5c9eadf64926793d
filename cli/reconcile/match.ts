// Matches the entries of the usage log with the lines of a statement, by the provider's ids.
import { usageError } from '../errors/failure.ts';
import type { UsageView } from '../views/payments/usage.ts';
import type { StatementLine } from './read-statement.ts';

/** The entries and lines from `from` on and before `to`, in milliseconds since 1970. */
export type MatchedPeriod = { readonly from: number; readonly to: number; readonly toleranceMs: number };

export const FEE_SOURCES = ['provider', 'rules', 'none'] as const;
/** The hub's side of fees: what the provider said with the payment, our fee lines, or nothing. */
export type FeeSource = (typeof FEE_SOURCES)[number];

export type Difference = {
  readonly field: 'amount' | 'currency' | 'fee';
  readonly line: number;
  readonly entry: UsageView;
  /** In minor units. Fees are in the currency of the payment. */
  readonly here: { readonly minor: bigint; readonly currency: string };
  readonly there: { readonly minor: bigint; readonly currency: string };
};

/** The first members of a list, and how many there are. */
export class Bounded<T> {
  readonly listed: T[] = [];
  count = 0;

  add(item: T): void {
    this.count += 1;
    if (this.listed.length < MAX_LISTED) this.listed.push(item);
  }
}

const MAX_LISTED = 10_000;

/** About 0.5 KB of memory each. */
export const MAX_STATEMENT_LINES = 2_000_000;

type Open = StatementLine & { matched: boolean };

/** The lines of a statement by their ids. */
export class Book {
  readonly #lines: Open[] = [];
  readonly #byKey = new Map<string, Open | Open[]>();
  /** Fees of payments that stand on lines of their own, by the payment's id. */
  readonly #fees = new Map<string, bigint>();
  #earliest = Number.POSITIVE_INFINITY;
  #latest = Number.NEGATIVE_INFINITY;

  get lines(): number {
    return this.#lines.length;
  }

  /** The times of the first and the last line; undefined if a line has none. */
  get span(): { readonly earliest: number; readonly latest: number } | undefined {
    const [earliest, latest] = [this.#earliest, this.#latest];
    return Number.isFinite(earliest) && Number.isFinite(latest) ? { earliest, latest } : undefined;
  }

  /** @throws CliError (usage) for more lines than memory holds */
  add(line: StatementLine): void {
    if (line.kind === 'fee') {
      this.#addFee(line);
      return;
    }
    if (this.#lines.length === MAX_STATEMENT_LINES) {
      throw usageError(
        `The statement has more than ${MAX_STATEMENT_LINES} lines. Export shorter periods and compare each.`,
      );
    }
    const open = { ...line, matched: false };
    this.#lines.push(open);
    this.#earliest = Math.min(this.#earliest, line.at ?? Number.NEGATIVE_INFINITY);
    this.#latest = Math.max(this.#latest, line.at ?? Number.POSITIVE_INFINITY);
    for (const key of keysOf(line)) {
      const there = this.#byKey.get(key);
      if (there === undefined) this.#byKey.set(key, open);
      else if (Array.isArray(there)) there.push(open);
      else this.#byKey.set(key, [there, open]);
    }
  }

  /** The line of an entry, which no other entry gets. Prefers a line with the same amount. */
  take(entry: UsageView): StatementLine | undefined {
    const keys = wantedKeys(entry);
    const isEqual = (line: Open) =>
      line.minor === amountOf(entry) && line.currency === entry.currency && !line.matched;
    const found =
      this.#find(keys, isEqual) ??
      // A refund by the payment's id alone could be another refund of the same payment.
      this.#find(entry.kind === 'refund' ? keys.slice(0, 1) : keys, (line) => !line.matched);
    if (found !== undefined) found.matched = true;
    return found;
  }

  /** The fee of a line, with fees that stand on lines of their own; undefined if the statement has none. */
  feeOf(line: StatementLine): bigint | undefined {
    const apart = [line.payment, line.id, line.reference].flatMap((id) => this.#fees.get(id) ?? []);
    if (line.feeMinor === undefined && apart.length === 0) return undefined;
    return (line.feeMinor ?? 0n) + (apart[0] ?? 0n);
  }

  /** Leaves out what was taken and given back again, such as by a dispute that was won: no entry has it. */
  unmatched(): readonly StatementLine[] {
    for (const line of this.#lines) {
      if (line.kind !== 'returned' || line.matched) continue;
      const isTaken = (other: Open) =>
        other.minor === line.minor && other.currency === line.currency && !other.matched;
      const taken = this.#find([`back ${line.id}`], isTaken);
      if (taken === undefined) continue;
      taken.matched = true;
      line.matched = true;
    }
    return this.#lines.filter(({ matched }) => !matched);
  }

  #find(keys: readonly string[], isWanted: (line: Open) => boolean): Open | undefined {
    for (const key of keys) {
      const there = this.#byKey.get(key);
      const found = Array.isArray(there)
        ? there.find(isWanted)
        : there && isWanted(there)
          ? there
          : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #addFee({ payment, id, reference, minor }: StatementLine): void {
    const of = payment || reference || id;
    this.#fees.set(of, (this.#fees.get(of) ?? 0n) + minor);
  }
}

/**
 * A payment has one key, so that a second payment for a session is not taken for the first. A line that takes money
 * back is found by its own id and by that of its payment.
 */
function keysOf({ kind, id, payment, reference }: StatementLine): string[] {
  if (kind === 'returned') return [];
  if (kind === 'payment')
    return [payment !== '' || id !== '' ? `paid ${payment || id}` : `paid as ${reference}`];
  return [
    ...(id === '' ? [] : [`back ${id}`]),
    ...(payment === '' ? [] : [`back of ${payment}`]),
    ...(reference === '' ? [] : [`back as ${reference}`]),
  ];
}

function wantedKeys({ kind, gatewayTransactionId: id, sessionId }: UsageView): string[] {
  // The transaction id that the hub gave the provider.
  const reference = sessionId.replace(/^chs_/, '').toUpperCase();
  if (kind === 'refund') return [`back ${id}`, `back as ${reference}`];
  if (kind === 'reversal') return [`back of ${id}`, `back as ${reference}`, `back ${id}`];
  return [`paid ${id}`, `paid as ${reference}`];
}

function amountOf({ minorUnits }: UsageView): bigint {
  return BigInt(Math.abs(minorUnits));
}

export type Comparison = {
  /** Entries that agree in everything that both sides have. */
  matched: number;
  /** Lines of the statement that the hub has no entry for. */
  readonly missingHere: Bounded<StatementLine>;
  /** Entries that the statement has no line for. */
  readonly missingThere: Bounded<UsageView>;
  readonly differs: Bounded<Difference>;
  /** The same near the ends of the period: the statement of the period next to it may have them. */
  readonly atEdge: Bounded<UsageView>;
  /** Payments of which one side has no fee. */
  feesNotCompared: number;
};

export function newComparison(): Comparison {
  return {
    matched: 0,
    missingHere: new Bounded(),
    missingThere: new Bounded(),
    differs: new Bounded(),
    atEdge: new Bounded(),
    feesNotCompared: 0,
  };
}

/** Compares an entry with its line. Entries outside of the period only explain lines within it. */
export function compareEntry(
  into: Comparison,
  book: Book,
  entry: UsageView,
  { from, to, toleranceMs, fees }: MatchedPeriod & { readonly fees: FeeSource },
): void {
  const line = book.take(entry);
  if (line === undefined) {
    const at = Date.parse(entry.settledAt);
    if (at < from || at >= to) return;
    const isAtEdge = at < from + toleranceMs || at >= to - toleranceMs;
    (isAtEdge ? into.atEdge : into.missingThere).add(entry);
    return;
  }
  const differences = differencesOf(entry, line);
  if (differences.length === 0 && line.kind === 'payment' && fees !== 'none') {
    const [here, there] = [feeHere(entry, fees), book.feeOf(line)];
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
  return {
    field,
    line,
    entry,
    here: { minor: here, currency: entry.currency },
    there: { minor: there, currency },
  };
}

function feeHere(entry: UsageView, fees: FeeSource): bigint | undefined {
  if (fees === 'rules') return BigInt(entry.feeTotal.minorUnits);
  const { received, minorUnits, currency } = entry;
  return received?.currency === currency ? BigInt(minorUnits - received.minorUnits) : undefined;
}

/** Lines that no entry has matched. Lines outside of the period belong to another one. */
export function addUnmatched(into: Comparison, book: Book, { from, to }: MatchedPeriod): void {
  for (const line of book.unmatched()) {
    if (line.at === undefined || (line.at >= from && line.at < to)) into.missingHere.add(line);
  }
}
