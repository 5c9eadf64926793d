// Finds the fee formula that fits the fees of payments best. Reads and writes nothing; pauses for other work.
import { setImmediate } from 'node:timers/promises';
import { type FeeFormula, feeAmount } from './amount.ts';

/** Payments of one amount with one fee. */
export type FeeObservation = {
  readonly amountMinor: bigint;
  readonly feeMinor: bigint;
  /** Number of payments; at least 1. */
  readonly payments: number;
};

export type FittedFee = {
  readonly formula: FeeFormula;
  /** Payments whose fee the formula computes exactly. */
  readonly exactPayments: bigint;
  readonly wouldChargeMinor: bigint;
  /** The sum of the absolute differences. */
  readonly errorMinor: bigint;
  readonly largestErrorMinor: bigint;
  /** Whether another percentage fits as well, because the payments have too few different amounts. */
  readonly isAmbiguous: boolean;
};

const MAX_BASIS_POINTS = 10_000;
/** Observations on which every percentage is tried. */
const SAMPLE = 48;
/** The best percentages, which are then tried on all observations. */
const FINALISTS = 24;
/** Percentages between two pauses, in which other work of the process runs. */
const BETWEEN_PAUSES = 250;

/**
 * Returns the formula with the smallest sum of errors. Of equal formulas it prefers one without bounds, then
 * one without a fixed part, then the rounder percentage. `observations` must not be empty.
 */
export async function fitFee(observations: readonly FeeObservation[]): Promise<FittedFee> {
  const sorted = observations.toSorted((one, other) => compare(one.amountMinor, other.amountMinor));
  const sample = spread(sorted);
  const tried: Candidate[] = [];
  for (let basisPoints = 0; basisPoints <= MAX_BASIS_POINTS; basisPoints++) {
    tried.push(best(candidatesFor(basisPoints, sample)));
    if (basisPoints % BETWEEN_PAUSES === 0) await setImmediate();
  }
  const finalists: Candidate[] = [];
  for (const { formula } of tried.sort(byError).slice(0, FINALISTS)) {
    finalists.push(best(candidatesFor(formula.basisPoints, sorted)));
    await setImmediate();
  }
  const [first, second] = finalists.sort(byError);
  if (first === undefined) throw new Error('a fee cannot be fitted to no payments');
  return { ...measure(first.formula, sorted), isAmbiguous: second?.error === first.error };
}

type Candidate = { readonly formula: FeeFormula; readonly error: bigint };

/** Observations at even distances, with the first and the last. */
function spread(sorted: readonly FeeObservation[]): readonly FeeObservation[] {
  if (sorted.length <= SAMPLE) return sorted;
  const step = (sorted.length - 1) / (SAMPLE - 1);
  return Array.from({ length: SAMPLE }, (_, index) => sorted[Math.round(index * step)]).filter(
    (each) => each !== undefined,
  );
}

/**
 * The candidate formulas of a percentage. The fixed part is the most frequent rest. The bounds are the most
 * frequent fees of the observations above and below the formula.
 */
function candidatesFor(basisPoints: number, observations: readonly FeeObservation[]): Candidate[] {
  const line = { basisPoints, fixedMinor: 0n, minMinor: null, maxMinor: null };
  const rests = observations.map(({ amountMinor, feeMinor }) => feeMinor - feeAmount(line, amountMinor));
  return fixedParts(rests).flatMap((fixedMinor) => {
    const above = observations.filter((_, index) => (rests[index] ?? 0n) > fixedMinor);
    const below = observations.filter((_, index) => (rests[index] ?? 0n) < fixedMinor);
    const minima = [null, mostFrequent(above.map(({ feeMinor }) => feeMinor))];
    const maxima = [null, mostFrequent(below.map(({ feeMinor }) => feeMinor))];
    return minima.flatMap((min) =>
      maxima.flatMap((max) => {
        const [minMinor, maxMinor] = [min ?? null, max ?? null];
        if (minMinor !== null && maxMinor !== null && minMinor > maxMinor) return [];
        const formula = { basisPoints, fixedMinor, minMinor, maxMinor };
        return [{ formula, error: errorOf(formula, observations) }];
      }),
    );
  });
}

/** The most frequent rest, and the one in the middle, which fits rounded data. Neither is negative. */
function fixedParts(rests: readonly bigint[]): bigint[] {
  const middle = rests.toSorted(compare)[Math.floor(rests.length / 2)] ?? 0n;
  const positive = rests.filter((rest) => rest >= 0n);
  return [...new Set([0n, mostFrequent(positive) ?? 0n, middle < 0n ? 0n : middle])];
}

/** The first of equally frequent values. Undefined for an empty list. */
function mostFrequent(values: readonly bigint[]): bigint | undefined {
  const counts = new Map<bigint, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  let found: bigint | undefined;
  let most = 0;
  for (const [value, count] of counts) {
    if (count > most) [found, most] = [value, count];
  }
  return found;
}

function errorOf(formula: FeeFormula, observations: readonly FeeObservation[]): bigint {
  let error = 0n;
  for (const { amountMinor, feeMinor, payments } of observations) {
    const difference = feeAmount(formula, amountMinor) - feeMinor;
    if (difference !== 0n) error += (difference < 0n ? -difference : difference) * BigInt(payments);
  }
  return error;
}

function best(candidates: readonly Candidate[]): Candidate {
  return candidates.reduce((one, other) => (byError(other, one) < 0 ? other : one));
}

function byError(one: Candidate, other: Candidate): number {
  return compare(one.error, other.error) || complexity(one.formula) - complexity(other.formula);
}

function complexity({ basisPoints, fixedMinor, minMinor, maxMinor }: FeeFormula): number {
  const bounds = [minMinor, maxMinor].filter((bound) => bound !== null).length;
  const parts = 2 * bounds + (fixedMinor === 0n ? 0 : 1);
  const roundness = [100, 50, 25, 10, 5, 1].findIndex((step) => basisPoints % step === 0);
  return parts * 1_000_000 + roundness * 100_000 + basisPoints;
}

function measure(
  formula: FeeFormula,
  observations: readonly FeeObservation[],
): Omit<FittedFee, 'isAmbiguous'> {
  const result = { exactPayments: 0n, wouldChargeMinor: 0n, errorMinor: 0n, largestErrorMinor: 0n };
  for (const { amountMinor, feeMinor, payments } of observations) {
    const fee = feeAmount(formula, amountMinor);
    const error = fee < feeMinor ? feeMinor - fee : fee - feeMinor;
    const count = BigInt(payments);
    if (error === 0n) result.exactPayments += count;
    result.wouldChargeMinor += fee * count;
    result.errorMinor += error * count;
    if (error > result.largestErrorMinor) result.largestErrorMinor = error;
  }
  return { formula, ...result };
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
