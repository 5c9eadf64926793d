// Random payments and fee formulas, as operators may enter them.
import fc from 'fast-check';
import type { FeeFormula } from '../../../core/payment/fee-amount.ts';
import type { FeeRuleFacts } from '../../../core/payment/fee-match.ts';

const LARGEST = BigInt(Number.MAX_SAFE_INTEGER);

/** Often small, where rounding shows; up to the largest amount there is. */
export const minorAmount: fc.Arbitrary<bigint> = fc.oneof(fc.bigInt(1n, 20_000n), fc.bigInt(1n, LARGEST));

export const feeFormula: fc.Arbitrary<FeeFormula> = fc
  .record({
    basisPoints: fc.integer({ min: 0, max: 10_000 }),
    fixedMinor: fc.oneof(fc.constant(0n), fc.bigInt(0n, LARGEST)),
    bounds: fc.tuple(fc.option(fc.bigInt(0n, LARGEST)), fc.option(fc.bigInt(0n, LARGEST))),
  })
  .map(({ basisPoints, fixedMinor, bounds: [one, other] }) => {
    const [minMinor, maxMinor] = one !== null && other !== null && one > other ? [other, one] : [one, other];
    return { basisPoints, fixedMinor, minMinor, maxMinor };
  });

/** Rules in force of a gateway `till` and of others, with a slot, a currency or none; no two of a name alike in scope. */
export const feeRules: fc.Arbitrary<FeeRuleFacts[]> = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom('card', 'tax', 'share'),
      gateway: fc.constantFrom(null, 'till', 'bank'),
      slotId: fc.constantFrom(null, 'slot-1', 'slot-2'),
      currency: fc.constantFrom(null, 'BDT', 'USD'),
    }),
    { selector: (entry) => JSON.stringify(entry) },
  )
  .chain((entries) =>
    fc.tuple(
      ...entries.map((entry, index) =>
        feeFormula.map((formula) => ({ ...formula, ...entry, id: String(index), ...ALWAYS })),
      ),
    ),
  );

const ALWAYS = { version: 1, validFrom: new Date(0), validTo: null };
