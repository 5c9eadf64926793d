// Numbers and limits as they are typed.
import { expect } from 'chai';
import {
  parseCount,
  parseCountOrZero,
  parseInteger,
  parseInterval,
  parseLimit,
  parsePair,
  parsePort,
  parseSeats,
} from '../../../cli/parse/parse-number.ts';

describe('quantities on the command line', () => {
  it('parses seats as a number or unlimited', () => {
    expect(parseSeats('3')).to.equal(3);
    expect(parseSeats('unlimited')).to.equal(-1);
    for (const text of ['-1', '0', 'none']) expect(() => parseSeats(text), text).to.throw('unlimited');
  });

  it('refuses numbers that are not whole or out of range', () => {
    for (const text of ['', ' 3', '3.5', '1e3', 'x']) {
      expect(() => parseInteger(text), text).to.throw('Give a whole number.');
    }
    for (const parse of [parseInteger, parseCount, parseSeats]) {
      expect(() => parse('99999999999')).to.throw('Give a whole number up to 2147483647.');
    }
    expect(() => parseInteger('-2147483648')).to.throw('Give a whole number from -2147483647.');
    expect(() => parseCount('0')).to.throw('from 1');
    expect(() => parseCountOrZero('-1')).to.throw('from 0');
    // A longer timer of Node.js would fire at once.
    expect(() => parseInterval('86401')).to.throw('up to 86400');
  });

  it('collects limits, split at the first =', () => {
    const limits = parseLimit('exports=unlimited', parseLimit('projects=10', undefined));
    expect(limits).to.deep.equal({ projects: 10n, exports: -1n });
    expect(() => parseLimit('a=b=1', undefined)).to.throw('name=value');
  });

  it('refuses a limit without a name or a value, too large, or given twice', () => {
    for (const text of ['projects', '=1', 'projects=', 'projects=1.5', 'projects=9007199254740992']) {
      expect(() => parseLimit(text, undefined), text).to.throw('name=value');
    }
    expect(() => parseLimit('a=2', { a: 1n })).to.throw('The limit a is given twice.');
  });

  it('accepts a limit named like a member of Object', () => {
    expect(Object.entries(parseLimit('__proto__=1', { constructor: 2n }))).to.deep.equal([
      ['constructor', 2n],
      ['__proto__', 1n],
    ]);
  });

  it('collects pairs of a name and any text, each name once', () => {
    expect(parsePair('b=', parsePair('a=x=y'))).to.deep.equal({ a: 'x=y', b: '' });
    expect(Object.entries(parsePair('__proto__=1'))).to.deep.equal([['__proto__', '1']]);
    for (const text of ['a', '=1', '']) expect(() => parsePair(text), text).to.throw('name=value');
    expect(() => parsePair('a=2', { a: '1' })).to.throw('a is given twice.');
  });

  it('parses a port', () => {
    expect([parsePort('0'), parsePort('65535')]).to.deep.equal([0, 65_535]);
    for (const text of ['65536', '-1', '', '80a']) {
      expect(() => parsePort(text), text).to.throw('from 0 to 65535');
    }
  });
});
