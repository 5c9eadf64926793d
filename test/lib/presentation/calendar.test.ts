// Calendar periods: the time after one, and their words.
import { expect } from 'chai';
import { addPeriod, periodText } from '../../../lib/presentation/calendar.ts';

const NONE = { years: 0, months: 0, days: 0 };

describe('calendar periods', () => {
  it('ends a month on its last day if it is too short', () => {
    const timeAfter = (from: string, period: Partial<typeof NONE>): string =>
      addPeriod(new Date(from), { ...NONE, ...period }).toISOString();
    expect(timeAfter('2026-01-31T10:00:00Z', { months: 1 })).to.equal('2026-02-28T10:00:00.000Z');
    expect(timeAfter('2028-02-29T00:00:00Z', { years: 1 })).to.equal('2029-02-28T00:00:00.000Z');
    expect(timeAfter('2026-12-31T23:59:59Z', { months: 2, days: 1 })).to.equal('2027-03-01T23:59:59.000Z');
    expect(timeAfter('2026-03-01T00:00:00Z', { days: 30 })).to.equal('2026-03-31T00:00:00.000Z');
  });

  it('has words', () => {
    expect(periodText({ ...NONE, years: 1 })).to.equal('1 year');
    expect(periodText({ ...NONE, months: 18 })).to.equal('18 months');
    expect(periodText({ years: 1, months: 6, days: 0 })).to.equal('1 year and 6 months');
    expect(periodText({ years: 2, months: 1, days: 10 })).to.equal('2 years, 1 month and 10 days');
  });
});
