// Computes a fee exactly, in minor units.

/** How a fee is computed. All amounts are minor units of the payment's currency. */
export type FeeFormula = {
  /** Hundredths of a percent of the amount, 0 to 10000. */
  readonly basisPoints: number;
  /** Added to that; not negative. */
  readonly fixedMinor: bigint;
  /** Bounds of the result; null for none. `minMinor` is not above `maxMinor`. */
  readonly minMinor: bigint | null;
  readonly maxMinor: bigint | null;
};

const WHOLE = 10_000n;

/**
 * The fee for a payment of `amountMinor` (not negative): its share, rounded half up to the minor unit, plus
 * the fixed part, within the bounds. Never negative, and never less for a larger amount. It may exceed the
 * amount: a minimum of 5.00 is charged on a payment of 1.00 too.
 */
export function feeAmount(formula: FeeFormula, amountMinor: bigint): bigint {
  const { basisPoints, fixedMinor, minMinor, maxMinor } = formula;
  // Nothing here is negative, so the division rounds down, and half of the divisor makes it round half up.
  const share = (amountMinor * BigInt(basisPoints) + WHOLE / 2n) / WHOLE;
  const fee = share + fixedMinor;
  if (minMinor !== null && fee < minMinor) return minMinor;
  if (maxMinor !== null && fee > maxMinor) return maxMinor;
  return fee;
}
