import { expect } from 'chai';
import fc from 'fast-check';
import {
  type FeeRuleFacts,
  type FeeSubject,
  matchRules,
  specificity,
} from '../../../core/payment/fee-match.ts';
import { feeRules } from './fee-arbitraries.ts';

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
        for (const winner of matched) {
          const better = rules.filter(
            (rival) => rival.name === winner.name && specificity(rival) > specificity(winner),
          );
          expect(matchRules(better, PAYMENT)).to.deep.equal([]);
        }
      }),
    );
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
    ...more,
  };
}
