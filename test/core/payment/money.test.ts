// Money: exact parsing and formatting.
import { expect } from 'chai';
import fc from 'fast-check';
import {
  checkedMoney,
  formatDecimal,
  formatMoney,
  MoneyError,
  minorDigits,
  parseMoney,
  sameMoney,
} from '../../../core/payment/money.ts';

const currencies = fc.constantFrom('BDT', 'USD', 'JPY', 'KWD', 'CLF');
const amounts = fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) });

describe('money', () => {
  it('is parsed to the minor unit of its currency', () => {
    const read = (decimal: string, currency: string) => parseMoney(decimal, currency).minor;
    expect(read('100', 'BDT')).to.equal(10_000n);
    expect(read('100.5', 'BDT')).to.equal(10_050n);
    expect(read('0.07', 'BDT')).to.equal(7n);
    expect(read('100', 'JPY')).to.equal(100n);
    expect(read('1.234', 'KWD')).to.equal(1_234n);
    expect(read('90071992547409.91', 'BDT')).to.equal(9_007_199_254_740_991n);
  });

  it('accepts more decimals than its currency if they are zeros', () => {
    expect(parseMoney('100.5000', 'BDT').minor).to.equal(10_050n);
    expect(parseMoney('100.00', 'JPY').minor).to.equal(100n);
    expect(() => parseMoney('100.001', 'BDT')).to.throw(MoneyError, 'more decimals than BDT has (2)');
    expect(() => parseMoney('100.5', 'JPY')).to.throw(MoneyError, 'more decimals than JPY has (0)');
  });

  for (const text of [
    '',
    ' 1',
    '1 ',
    '-1',
    '+1',
    '1e2',
    '1,000',
    '.5',
    '5.',
    '0x10',
    '١',
    'NaN',
    '1.2.3',
    '1\n',
  ]) {
    it(`is refused from ${JSON.stringify(text)}`, () => {
      expect(() => parseMoney(text, 'BDT')).to.throw(MoneyError, 'is not a decimal amount such as 100.00');
    });
  }

  it('requires an upper-case ISO 4217 currency', () => {
    expect(minorDigits('BDT')).to.equal(2);
    for (const currency of ['', 'bdt', 'BD', 'XYZ', 'constructor']) {
      expect(() => parseMoney('1', currency)).to.throw(MoneyError, 'is not an ISO 4217 currency code');
    }
  });

  it('is limited to exact JSON numbers', () => {
    expect(() => parseMoney('90071992547409.92', 'BDT')).to.throw(MoneyError, 'must be between 0 and');
    expect(() => checkedMoney(-1n, 'BDT')).to.throw(MoneyError, 'must be between 0 and');
  });

  it('is printed with exactly the digits of its currency', () => {
    expect(formatMoney({ minor: 7n, currency: 'BDT' })).to.equal('0.07 BDT');
    expect(formatDecimal({ minor: 100n, currency: 'JPY' })).to.equal('100');
    expect(formatDecimal({ minor: 1n, currency: 'CLF' })).to.equal('0.0001');
    expect(formatDecimal({ minor: -1_050n, currency: 'BDT' })).to.equal('-10.50');
  });

  it('survives a round trip through its decimal form', () => {
    fc.assert(
      fc.property(amounts, currencies, (minor, currency) => {
        const money = { minor, currency };
        expect(sameMoney(parseMoney(formatDecimal(money), currency), money)).to.equal(true);
      }),
    );
  });

  it('equals only money of the same currency', () => {
    const hundred = { minor: 10_000n, currency: 'BDT' };
    expect(sameMoney(hundred, { minor: 10_000n, currency: 'USD' })).to.equal(false);
    expect(sameMoney(hundred, { minor: 10_001n, currency: 'BDT' })).to.equal(false);
  });
});
