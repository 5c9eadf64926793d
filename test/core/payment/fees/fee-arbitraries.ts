// Random payments and fee formulas, as operators may enter them.
import fc from 'fast-check';
import type { FeeFormula } from '../../../../core/payment/fees/amount.ts';
import type { FeeRuleFacts } from '../../../../core/payment/fees/rules.ts';

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

const ALWAYS = {
  version: 1,
  validFrom: new Date(0),
  validTo: null,
  declaredTo: null,
  slotsMayOverride: false,
  addedBySlot: false,
};

/** A moment between 0 and 20 ms. */
export const moment: fc.Arbitrary<Date> = fc.integer({ min: 0, max: 20 }).map((ms) => new Date(ms));

const scope = fc.constantFrom(
  { gateway: null, slotId: null },
  { gateway: 'till', slotId: null },
  { gateway: 'bank', slotId: null },
  { gateway: 'till', slotId: 'slot-1' },
  { gateway: 'till', slotId: 'slot-2' },
);

/** Versions that overlap in every way, open-ended and temporary ones, some of them ended early, some added by slots. */
export const overlappingRules: fc.Arbitrary<FeeRuleFacts[]> = fc
  .array(
    fc.record({
      name: fc.constantFrom('card', 'tax'),
      scope,
      currency: fc.constantFrom(null, 'BDT'),
      validFrom: moment,
      lastsMs: fc.option(fc.integer({ min: 1, max: 10 })),
      endsAfterMs: fc.option(fc.integer({ min: 0, max: 10 })),
      slotsMayOverride: fc.boolean(),
      addedBySlot: fc.boolean(),
      basisPoints: fc.integer({ min: 0, max: 500 }),
    }),
    { maxLength: 12 },
  )
  .map((entries) =>
    entries.map(({ scope, lastsMs, endsAfterMs, addedBySlot, slotsMayOverride, ...entry }, index) => {
      const endMs = Math.min(lastsMs ?? Number.POSITIVE_INFINITY, endsAfterMs ?? Number.POSITIVE_INFINITY);
      const after = (ms: number) => new Date(entry.validFrom.getTime() + ms);
      const bySlot = addedBySlot && scope.slotId !== null;
      return {
        ...entry,
        ...scope,
        id: String(index),
        version: index + 1,
        fixedMinor: 0n,
        minMinor: null,
        maxMinor: null,
        validTo: Number.isFinite(endMs) ? after(endMs) : null,
        declaredTo: lastsMs === null ? null : after(lastsMs),
        addedBySlot: bySlot,
        slotsMayOverride: slotsMayOverride && !bySlot,
      };
    }),
  );
