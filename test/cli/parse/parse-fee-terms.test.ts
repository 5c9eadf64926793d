// Parsing of the terms of a fee rule.
import { expect } from 'chai';
import { parseFeeTerms } from '../../../cli/parse/parse-fee-terms.ts';
import { parsePercent } from '../../../cli/parse/parse-number.ts';

const NAME = 'processing';

describe('the terms of a fee rule', () => {
  it('are exact in minor units of the currency', () => {
    const terms = { currency: 'KWD', percent: 120, fixed: '0.5', minFee: '1', maxFee: '10.001' };
    expect(parseFeeTerms(NAME, terms)).to.deep.equal({
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

  it('require a currency for amounts, and name the wrong option', () => {
    expect(() => parseFeeTerms(NAME, { percent: 1, minFee: '1' })).to.throw(
      '--min-fee is an amount of money',
    );
    expect(() => parseFeeTerms(NAME, { currency: 'BDT', fixed: '1.005' })).to.throw(
      '--fixed: BDT has only 2',
    );
  });

  it('require exactly one rate', () => {
    expect(() => parseFeeTerms(NAME, {})).to.throw('Give the fee with');
    expect(() => parseFeeTerms(NAME, { percent: 1, basisPoints: 1 })).to.throw('give one of them');
    expect(parseFeeTerms(NAME, { basisPoints: 150 }).basisPoints).to.equal(150);
  });

  it('accept a percentage with at most two decimals', () => {
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
