// Expiry dates as they are typed.
import { expect } from 'chai';
import { parseExpiry, parseLastDay } from '../../../cli/parse/parse-expiry.ts';

const NOW = new Date('2026-03-01T10:30:00.250Z');
const parse = (text: string) => parseExpiry(text, NOW).toISOString();

describe('an expiry on the command line', () => {
  it('given as a day lasts to the end of that day in UTC', () => {
    expect(parse('2026-12-31')).to.equal('2026-12-31T23:59:59.999Z');
  });

  it('given as an RFC 3339 time is that time', () => {
    expect(parse('2026-12-31T12:00:00Z')).to.equal('2026-12-31T12:00:00.000Z');
    expect(parse('2026-12-31t12:00:00.5+02:00')).to.equal('2026-12-31T10:00:00.500Z');
  });

  it('given as a period counts from now, in calendar years and months', () => {
    expect(parse('30d')).to.equal('2026-03-31T10:30:00.250Z');
    expect(parse('2w')).to.equal('2026-03-15T10:30:00.250Z');
    expect(parse('1y')).to.equal('2027-03-01T10:30:00.250Z');
    expect(parse('6m')).to.equal('2026-09-01T10:30:00.250Z');
    expect(parse('1y6m')).to.equal('2027-09-01T10:30:00.250Z');
    expect(parse('1m2w1d')).to.equal('2026-04-16T10:30:00.250Z');
  });

  it('is refused if it is not a real date or has another form', () => {
    const refused = [
      '',
      'soon',
      '31.12.2026',
      '2026-02-30',
      '2026-13-01',
      '2026-12-31T25:00:00Z',
      '2026-12-31T12:00:00',
      '30',
      '0d',
      '1d1y',
      '9999y',
    ];
    for (const text of refused) expect(() => parse(text), text).to.throw('Give a date');
  });

  it('given as the end of a renewal is not a period, because that could begin now or at the old end', () => {
    expect(parseLastDay('2026-12-31').toISOString()).to.equal('2026-12-31T23:59:59.999Z');
    expect(() => parseLastDay('1y')).to.throw('Give a date (2026-12-31) or an RFC 3339 time');
  });
});
