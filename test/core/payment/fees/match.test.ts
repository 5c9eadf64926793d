import { expect } from 'chai';
import fc from 'fast-check';
import {
  type FeeRuleFacts,
  type FeeSubject,
  matchRules,
  stateOf,
} from '../../../../core/payment/fees/match.ts';
import { feeRules, moment, overlappingRules } from './fee-arbitraries.ts';
import { expectedRule } from './fee-model.ts';

const AT = new Date('2026-05-01T12:00:00.000Z');
const PAYMENT: FeeSubject = { gateway: 'till', slotId: 'slot-1', currency: 'BDT', at: AT };

describe('the fee rules that apply to a payment', () => {
  it('are, for each name, the most specific: slot before gateway before currency before none', () => {
    const scopes = [
      { slotId: 'slot-1', gateway: 'till', currency: 'BDT' },
      { slotId: 'slot-1', gateway: 'till' },
      { gateway: 'till', currency: 'BDT' },
      { gateway: 'till' },
      { currency: 'BDT' },
      {},
    ];
    const rules = scopes.map((scope, index) => rule({ ...scope, id: String(index) }));
    for (const [index] of scopes.entries()) {
      const left = rules.slice(index).reverse();
      expect(matchRules(left, PAYMENT).map(({ id }) => id)).to.deep.equal([String(index)]);
    }
  });

  it('are not those of another gateway, slot or currency', () => {
    const others = [{ gateway: 'bank' }, { slotId: 'slot-2' }, { currency: 'USD' }].map(rule);
    expect(matchRules(others, PAYMENT)).to.deep.equal([]);
  });

  it('begin to apply at the very moment they say, and stop at the very moment they say', () => {
    const at = (ms: number) => new Date(AT.getTime() + ms);
    const older = rule({ id: 'older', validFrom: at(-9), validTo: AT });
    const newer = rule({ id: 'newer', validFrom: AT });
    const idsAt = (ms: number) => matchRules([older, newer], { ...PAYMENT, at: at(ms) }).map(({ id }) => id);
    expect([idsAt(-10), idsAt(-9), idsAt(-1), idsAt(0)]).to.deep.equal([[], ['older'], ['older'], ['newer']]);
  });

  it('are the same in whichever order the rules come, one for each name, by name', () => {
    fc.assert(
      fc.property(feeRules, fc.infiniteStream(fc.nat()), (rules, order) => {
        const shuffled = rules
          .map((entry) => ({ entry, key: order.next().value }))
          .sort((one, other) => one.key - other.key)
          .map(({ entry }) => entry);
        const matched = matchRules(rules, PAYMENT);
        expect(matchRules(shuffled, PAYMENT)).to.deep.equal(matched);
        const names = matched.map(({ name }) => name);
        expect(names).to.deep.equal([...new Set(names)].sort());
      }),
    );
  });

  it('are at every moment those that the order in docs/how-to/change-fees.md says', () => {
    const payment = fc.record({
      gateway: fc.constant('till'),
      slotId: fc.constantFrom('slot-1', 'slot-2', 'slot-3'),
      currency: fc.constantFrom('BDT', 'USD'),
      at: moment,
    });
    fc.assert(
      fc.property(overlappingRules, payment, (rules, paid) => {
        const expected = ['card', 'tax'].flatMap((name) => {
          const rule = expectedRule(
            rules.filter((each) => each.name === name),
            paid,
          );
          return rule ? [rule.id] : [];
        });
        expect(matchRules(rules, paid).map(({ id }) => id)).to.deep.equal(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('go back to the open-ended version when a temporary one is over', () => {
    const at = (ms: number) => new Date(AT.getTime() + ms);
    const open = rule({ id: 'open', version: 1, validFrom: at(-10) });
    const week = rule({ id: 'week', version: 2, validFrom: at(0), validTo: at(7), declaredTo: at(7) });
    const day = rule({ id: 'day', version: 3, validFrom: at(3), validTo: at(4), declaredTo: at(4) });
    const newer = rule({ id: 'newer', version: 4, validFrom: at(5) });
    const older = { ...open, validTo: at(5) };
    const rules = [older, week, day, newer];
    const idAt = (ms: number) => matchRules(rules, { ...PAYMENT, at: at(ms) })[0]?.id;
    expect([-1, 0, 2, 3, 4, 6, 7, 99].map(idAt)).to.deep.equal([
      'open',
      'week',
      'week',
      'day',
      'week',
      'week',
      'newer',
      'newer',
    ]);
    // An open-ended version that was ended early is no temporary one.
    expect(matchRules([{ ...open, validTo: at(1) }, week], { ...PAYMENT, at: at(0) })[0]?.id).to.equal(
      'week',
    );
    const states = (ms: number) => rules.map((each) => stateOf(each, rules, at(ms)));
    expect(states(3)).to.deep.equal(['overridden', 'overridden', 'in_force', 'planned']);
    expect(states(7)).to.deep.equal(['ended', 'ended', 'ended', 'in_force']);
  });
});

function rule(more: Partial<FeeRuleFacts>): FeeRuleFacts {
  return {
    id: 'any',
    name: 'card',
    version: 1,
    gateway: null,
    slotId: null,
    currency: null,
    basisPoints: 100,
    fixedMinor: 0n,
    minMinor: null,
    maxMinor: null,
    validFrom: new Date(0),
    validTo: null,
    declaredTo: null,
    slotsMayOverride: false,
    addedBySlot: false,
    ...more,
  };
}
