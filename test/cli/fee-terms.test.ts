// A fee rule as it is typed.
import { expect } from 'chai';
import { feeRuleOf } from '../../cli/fee-terms.ts';
import { parsePercent } from '../../cli/quantities.ts';

const RULE = { name: 'processing' };

describe('the terms of a fee rule', () => {
  it('are exact in minor units of the currency', () => {
    const terms = { ...RULE, currency: 'KWD', percent: 120, fixed: '0.5', min: '1', max: '10.001' };
    expect(feeRuleOf(terms)).to.deep.equal({
      name: 'processing',
      gateway: '',
      slot: '',
      currency: 'KWD',
      basisPoints: 120,
      fixedMinorUnits: 500n,
      minMinorUnits: 1_000n,
      maxMinorUnits: 10_001n,
    });
  });

  it('need a currency where they are amounts, and name the option that is wrong', () => {
    expect(() => feeRuleOf({ ...RULE, percent: 1, min: '1' })).to.throw('--min is an amount of money');
    expect(() => feeRuleOf({ ...RULE, currency: 'BDT', fixed: '1.005' })).to.throw('--fixed: BDT has only 2');
  });

  it('say once what the fee is', () => {
    expect(() => feeRuleOf(RULE)).to.throw('Say what the fee is');
    expect(() => feeRuleOf({ ...RULE, percent: 1, basisPoints: 1 })).to.throw('give one of them');
    expect(feeRuleOf({ ...RULE, basisPoints: 150 }).basisPoints).to.equal(150);
  });

  it('have a percentage of at most two decimals', () => {
    const cases = [
      ['1.5', 150],
      ['0.29', 29],
      ['2', 200],
      ['0.01', 1],
    ] as const;
    for (const [text, basisPoints] of cases) expect(parsePercent(text), text).to.equal(basisPoints);
    for (const text of ['', '1.555', '-1', '1%', '.5']) {
      expect(() => parsePercent(text), text).to.throw('Give a percentage');
    }
  });
});
