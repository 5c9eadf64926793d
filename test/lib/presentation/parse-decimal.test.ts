// Amounts of money, as typed and as shown, held to the hub's own.
import { expect } from 'chai';
import fc from 'fast-check';
import {
  formatDecimal as hubFormat,
  MoneyError,
  minorDigits,
  parseMoney,
} from '../../../core/payment/money.ts';
import { formatDecimal } from '../../../lib/presentation/money.ts';
import { parseDecimal, parseGroupedDecimal } from '../../../lib/presentation/parse-decimal.ts';

/** Every three-letter code that the hub accepts as a currency. */
const CURRENCIES = codes().filter((code) => {
  try {
    return minorDigits(code) >= 0;
  } catch (error) {
    if (error instanceof MoneyError) return false;
    throw error;
  }
});

function codes(): string[] {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  return letters.flatMap((one) => letters.flatMap((two) => letters.map((three) => one + two + three)));
}

describe('decimal amounts', () => {
  it('have the same number of digits per currency as in the hub', () => {
    expect(CURRENCIES).to.include.members(['BDT', 'JPY', 'KWD', 'CLF']);
    for (const currency of CURRENCIES) {
      expect(formatDecimal(12_345n, currency), currency).to.equal(hubFormat({ minor: 12_345n, currency }));
    }
  });

  it('have a leading sign', () => {
    const shown = [-5n, -1234n, 0n, 1n].map((minor) => formatDecimal(minor, 'BDT'));
    expect(shown).to.deep.equal(['-0.05', '-12.34', '0.00', '0.01']);
    expect(formatDecimal(-7n, 'JPY')).to.equal('-7');
  });

  it('are parsed like in the hub, and survive a round trip', () => {
    const amount = fc.bigInt({ min: 0n, max: BigInt(Number.MAX_SAFE_INTEGER) });
    fc.assert(
      fc.property(amount, fc.constantFrom('BDT', 'JPY', 'KWD', 'CLF'), (minor, currency) => {
        const decimal = formatDecimal(minor, currency);
        return parseDecimal(decimal, currency) === minor && parseMoney(decimal, currency).minor === minor;
      }),
    );
  });

  it('may be short or have trailing zeros, and nothing else', () => {
    expect(parseDecimal('100', 'BDT')).to.equal(10_000n);
    expect(parseDecimal('100.5', 'BDT')).to.equal(10_050n);
    expect(parseDecimal('100.5000', 'BDT')).to.equal(10_050n);
    expect(parseDecimal('7.00', 'JPY')).to.equal(7n);
    for (const text of ['', '.5', '1.', '-1', '+1', '1e3', '1,000', '1 000', '0x10', '١', 'NaN']) {
      expect(() => parseDecimal(text, 'BDT'), text).to.throw('Give a decimal amount such as 100.00.');
    }
  });

  it('are refused with more digits than the currency has, and beyond 2^53-1 minor units', () => {
    expect(() => parseDecimal('0.001', 'BDT')).to.throw('BDT has only 2 digits after the decimal point.');
    expect(() => parseDecimal('1.5', 'JPY')).to.throw('JPY has no digits after the decimal point.');
    expect(parseDecimal('90071992547409.91', 'BDT')).to.equal(9_007_199_254_740_991n);
    expect(() => parseDecimal('90071992547409.92', 'BDT')).to.throw(
      'The amount is too large: the maximum is ',
    );
  });

  it('may have commas between thousands where these cannot be decimal commas', () => {
    for (const [text, currency, minor] of [
      ['9.50', 'EUR', 950n],
      ['1,000', 'EUR', 100_000n],
      ['1,000.00', 'EUR', 100_000n],
      ['12,345,678.9', 'EUR', 1_234_567_890n],
      ['1,000', 'JPY', 1_000n],
      ['9,500.000', 'KWD', 9_500_000n],
    ] as const) {
      expect(parseGroupedDecimal(text, currency), `${text} ${currency}`).to.equal(minor);
    }
    for (const [text, currency] of [
      ['9,50', 'EUR'],
      ['9,5', 'EUR'],
      ['1000,00', 'EUR'],
      ['1,00,000.00', 'EUR'],
      ['1.000,00', 'EUR'],
      ['1,000,', 'EUR'],
      [',500', 'EUR'],
      ['9,500', 'KWD'],
      ['9,500', 'CLF'],
    ] as const) {
      expect(() => parseGroupedDecimal(text, currency), `${text} ${currency}`).to.throw(
        'The decimal sign is a point',
      );
    }
    expect(() => parseGroupedDecimal('1,000.001', 'EUR')).to.throw('EUR has only 2 digits');
  });
});
