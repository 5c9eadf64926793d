// The lines of a statement, indexed by the provider's ids, so that each entry of the usage log finds its line.
import { usageError } from '../errors/failure.ts';
import type { UsageView } from '../views/payments/usage.ts';
import type { StatementLine } from './read-statement.ts';

/** Bounds the memory: a line takes about 0.5 KB. */
const MAX_STATEMENT_LINES = 2_000_000;

type IndexedLine = StatementLine & { matched: boolean };

export class StatementIndex {
  readonly #lines: IndexedLine[] = [];
  readonly #byKey = new Map<string, IndexedLine | IndexedLine[]>();
  /** Fees that have lines of their own, by the payment's id. */
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
    const indexed = { ...line, matched: false };
    this.#lines.push(indexed);
    this.#earliest = Math.min(this.#earliest, line.at ?? Number.NEGATIVE_INFINITY);
    this.#latest = Math.max(this.#latest, line.at ?? Number.POSITIVE_INFINITY);
    for (const key of keysOfLine(line)) {
      const existing = this.#byKey.get(key);
      if (existing === undefined) this.#byKey.set(key, indexed);
      else if (Array.isArray(existing)) existing.push(indexed);
      else this.#byKey.set(key, [existing, indexed]);
    }
  }

  /** Returns the line of an entry, and never returns it again. Prefers a line with the same amount. */
  takeLine(entry: UsageView): StatementLine | undefined {
    const keys = keysOfEntry(entry);
    const isEqual = (line: IndexedLine) =>
      line.minor === amountOf(entry) && line.currency === entry.currency && !line.matched;
    const found = this.#find(keys, isEqual) ?? this.#findDifferent(entry.kind, keys);
    if (found !== undefined) found.matched = true;
    return found;
  }

  /** The fee of a line, including a fee on a line of its own. Undefined if the statement has none. */
  feeOf(line: StatementLine): bigint | undefined {
    const separate = [line.payment, line.id, line.reference].flatMap((id) => this.#fees.get(id) ?? []);
    if (line.feeMinor === undefined && separate.length === 0) return undefined;
    return (line.feeMinor ?? 0n) + (separate[0] ?? 0n);
  }

  /**
   * The lines that match no entry. Leaves out money that was taken and then returned, such as by a dispute that was won:
   * the usage log has no entry for it.
   */
  unmatched(): readonly StatementLine[] {
    for (const line of this.#lines) {
      if (line.kind !== 'returned' || line.matched) continue;
      const isTaken = (other: IndexedLine) =>
        other.minor === line.minor && other.currency === line.currency && !other.matched;
      const taken = this.#find([`back ${line.id}`], isTaken);
      if (taken === undefined) continue;
      taken.matched = true;
      line.matched = true;
    }
    return this.#lines.filter(({ matched }) => !matched);
  }

  /** The line of an entry with another amount. Leaves lines that other entries of the same payment need. */
  #findDifferent(kind: UsageView['kind'], keys: readonly string[]): IndexedLine | undefined {
    // A later payment has the id of the first one.
    if (kind === 'later_payment') return undefined;
    // By the payment's id alone, the line could be another refund of the same payment.
    const own = kind === 'refund' ? keys.slice(0, 1) : keys;
    return this.#find(own, (line) => !line.matched && (kind !== 'reversal' || line.kind === 'reversal'));
  }

  #find(keys: readonly string[], isMatch: (line: IndexedLine) => boolean): IndexedLine | undefined {
    for (const key of keys) {
      const existing = this.#byKey.get(key);
      const found = Array.isArray(existing)
        ? existing.find(isMatch)
        : existing && isMatch(existing)
          ? existing
          : undefined;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #addFee({ payment, id, reference, minor }: StatementLine): void {
    const paymentId = payment || reference || id;
    this.#fees.set(paymentId, (this.#fees.get(paymentId) ?? 0n) + minor);
  }
}

/**
 * A payment has one key, so that a second payment of a session does not match the first. A refund or reversal is found by
 * its own id and by that of its payment.
 */
function keysOfLine({ kind, id, payment, reference }: StatementLine): string[] {
  if (kind === 'returned') return [];
  if (kind === 'payment')
    return [payment !== '' || id !== '' ? `paid ${payment || id}` : `paid as ${reference}`];
  return [
    ...(id === '' ? [] : [`back ${id}`]),
    ...(payment === '' ? [] : [`back of ${payment}`]),
    ...(reference === '' ? [] : [`back as ${reference}`]),
  ];
}

function keysOfEntry({ kind, gatewayTransactionId: id, sessionId }: UsageView): string[] {
  // The transaction id that the hub gave the provider.
  const reference = sessionId.replace(/^chs_/, '').toUpperCase();
  if (kind === 'refund') return [`back ${id}`, `back as ${reference}`];
  if (kind === 'reversal') return [`back of ${id}`, `back as ${reference}`, `back ${id}`];
  return [`paid ${id}`, `paid as ${reference}`];
}

export function amountOf({ minorUnits }: UsageView): bigint {
  return BigInt(Math.abs(minorUnits));
}
