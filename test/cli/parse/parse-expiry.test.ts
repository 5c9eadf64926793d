// Expiry dates as they are typed.
import { expect } from 'chai';
import { parseExpiry } from '../../../cli/parse/parse-expiry.ts';

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

  it('given as a duration counts from now', () => {
    expect(parse('30d')).to.equal('2026-03-31T10:30:00.250Z');
    expect(parse('2w')).to.equal('2026-03-15T10:30:00.250Z');
    expect(parse('1y')).to.equal('2027-03-01T10:30:00.250Z');
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
      '1m',
      '9999y',
    ];
    for (const text of refused) expect(() => parse(text), text).to.throw('Give a date');
  });
});
