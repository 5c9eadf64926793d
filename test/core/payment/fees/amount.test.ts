import { expect } from 'chai';
import fc from 'fast-check';
import { type FeeFormula, feeAmount } from '../../../../core/payment/fees/amount.ts';
import { feeFormula, minorAmount } from './fee-arbitraries.ts';

const NOTHING: FeeFormula = { basisPoints: 0, fixedMinor: 0n, minMinor: null, maxMinor: null };

describe('the amount of a fee', () => {
  it('is the rate, rounded half up to the minor unit, plus the fixed part, within the bounds', () => {
    const share = (basisPoints: number, amount: bigint) => feeAmount({ ...NOTHING, basisPoints }, amount);
    expect(share(250, 10_000n)).to.equal(250n);
    expect(share(100, 49n)).to.equal(0n);
    expect(share(100, 50n)).to.equal(1n);
    expect(share(100, 149n)).to.equal(1n);
    expect(share(100, 150n)).to.equal(2n);
    expect(share(10_000, 9007199254740991n)).to.equal(9007199254740991n);
    // One above is a half: a binary float of this size cannot represent halves.
    expect(share(5_000, 9007199254740991n)).to.equal(4503599627370496n);
    const card: FeeFormula = { basisPoints: 190, fixedMinor: 30n, minMinor: 50n, maxMinor: 1_000n };
    expect(feeAmount(card, 100n)).to.equal(50n);
    expect(feeAmount(card, 10_000n)).to.equal(220n);
    expect(feeAmount(card, 1_000_000n)).to.equal(1_000n);
    expect(feeAmount({ ...NOTHING, minMinor: 500n }, 100n)).to.equal(500n);
  });

  it('is exact: at most half a minor unit from the rational amount, with halves rounded up', () => {
    fc.assert(
      fc.property(
        minorAmount,
        fc.integer({ min: 0, max: 10_000 }),
        fc.bigInt(0n, 10n ** 12n),
        (paid, points, fixed) => {
          const fee = feeAmount({ ...NOTHING, basisPoints: points, fixedMinor: fixed }, paid);
          // In units of a twenty-thousandth, where a half is a whole number too.
          const error = (fee - fixed) * 20_000n - paid * BigInt(points) * 2n;
          expect(error > -10_000n && error <= 10_000n, `off by ${error}/20000`).to.equal(true);
        },
      ),
    );
  });

  it('is never negative and within its bounds', () => {
    fc.assert(
      fc.property(feeFormula, minorAmount, (formula, paid) => {
        const fee = feeAmount(formula, paid);
        expect(fee >= (formula.minMinor ?? 0n)).to.equal(true);
        expect(formula.maxMinor === null || fee <= formula.maxMinor).to.equal(true);
      }),
    );
  });

  it('is never lower for a larger payment', () => {
    fc.assert(
      fc.property(feeFormula, minorAmount, minorAmount, (formula, one, other) => {
        const [less, more] = one < other ? [one, other] : [other, one];
        expect(feeAmount(formula, less) <= feeAmount(formula, more)).to.equal(true);
      }),
    );
  });
});
