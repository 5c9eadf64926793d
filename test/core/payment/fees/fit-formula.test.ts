// The rule that fits: the same one if the fees come from a rule, and a close one if the provider rounds otherwise.
import { expect } from 'chai';
import fc from 'fast-check';
import { type FeeFormula, feeAmount } from '../../../../core/payment/fees/amount.ts';
import { type FeeObservation, fitFee } from '../../../../core/payment/fees/fit-formula.ts';

/** Amounts around the bounds of a formula and between them, so that the data shows every part of it. */
function amountsThatShow(
  { basisPoints, fixedMinor, minMinor, maxMinor }: FeeFormula,
  seeds: readonly number[],
): bigint[] {
  const amountOf = (fee: bigint) => (fee * 10_000n) / BigInt(basisPoints);
  const low = minMinor === null ? 100n : amountOf(minMinor - fixedMinor);
  const high = maxMinor === null ? low + 20_000_000n : amountOf(maxMinor - fixedMinor);
  const within = seeds.map((seed) => low + ((high - low) * BigInt(seed)) / 1_000n);
  const below = minMinor === null ? [] : [2n, 3n, 4n].map((part) => low / part + 1n);
  const above = maxMinor === null ? [] : [2n, 3n, 4n].map((times) => high * times);
  return [...below, ...within, low + 1n, high - 1n, ...above];
}

const formula: fc.Arbitrary<FeeFormula> = fc
  .record({
    basisPoints: fc.integer({ min: 1, max: 1_000 }),
    fixed: fc.option(fc.bigInt(1n, 5_000n)),
    min: fc.option(fc.bigInt(500n, 5_000n)),
    max: fc.option(fc.bigInt(100_000n, 1_000_000n)),
  })
  .map(({ basisPoints, fixed, min, max }) => {
    const fixedMinor = fixed ?? 0n;
    return {
      basisPoints,
      fixedMinor,
      minMinor: min === null ? null : min + fixedMinor,
      maxMinor: max === null ? null : max + fixedMinor,
    };
  });

describe('the rule that fits the fees of payments', () => {
  it('is the rule that made them, whatever it is', async () => {
    const seeds = fc.uniqueArray(fc.integer({ min: 1, max: 999 }), { minLength: 20, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(formula, seeds, async (rule, places) => {
        const observations = [...new Set(amountsThatShow(rule, places))].map((amountMinor) => ({
          amountMinor,
          feeMinor: feeAmount(rule, amountMinor),
          payments: 1,
        }));
        const fitted = await fitFee(observations);
        expect(fitted.formula).to.deep.equal(rule);
        expect(fitted).to.include({
          errorMinor: 0n,
          exactPayments: BigInt(observations.length),
          isAmbiguous: false,
        });
      }),
      { numRuns: 6 },
    );
  });

  it('is close if the provider rounds up, and says what remains', async () => {
    const observations = Array.from({ length: 300 }, (_, index): FeeObservation => {
      const amountMinor = BigInt(index * 7_919 + 1_003);
      return { amountMinor, feeMinor: (amountMinor * 25n + 999n) / 1_000n, payments: 2 };
    });
    const fitted = await fitFee(observations);
    expect(fitted.formula.basisPoints).to.equal(250);
    expect(fitted.largestErrorMinor <= 1n).to.equal(true);
    expect(fitted.errorMinor > 0n && fitted.errorMinor < 600n).to.equal(true);
    expect(fitted.exactPayments + fitted.errorMinor).to.equal(600n);
  });

  it('ignores a few payments that the provider charged otherwise', async () => {
    const rule = { basisPoints: 180, fixedMinor: 500n, minMinor: null, maxMinor: null };
    const observations = Array.from({ length: 100 }, (_, index): FeeObservation => {
      const amountMinor = BigInt(index * 50_000 + 10_000);
      return {
        amountMinor,
        feeMinor: feeAmount(rule, amountMinor) + (index % 20 === 0 ? 9_999n : 0n),
        payments: 1,
      };
    });
    expect((await fitFee(observations)).formula).to.deep.equal(rule);
  });

  it('is the simplest one if several fit the payments, and says so', async () => {
    const one = await fitFee([{ amountMinor: 10_000n, feeMinor: 250n, payments: 7 }]);
    expect(one.formula).to.deep.equal({ basisPoints: 250, fixedMinor: 0n, minMinor: null, maxMinor: null });
    expect(one).to.include({ isAmbiguous: true, exactPayments: 7n, wouldChargeMinor: 1_750n });
    const flat = await fitFee(
      [1n, 2n, 3n].map((n) => ({ amountMinor: n * 1_000_000n, feeMinor: 500n, payments: 1 })),
    );
    expect(flat.formula).to.deep.equal({ basisPoints: 0, fixedMinor: 500n, minMinor: null, maxMinor: null });
  });
});
