// Bounds of periods as they are typed.
import { expect } from 'chai';
import { InvalidArgumentError } from 'commander';
import { parseBound, timestampOf } from '../../../cli/parse/parse-time.ts';

describe('a bound of a period', () => {
  it('is the start of a day in UTC, or a time with its zone', () => {
    const cases = [
      ['2026-03-01', '2026-03-01T00:00:00.000Z'],
      ['2026-03-01T10:20:30Z', '2026-03-01T10:20:30.000Z'],
      ['2026-03-01t10:20:30.5+06:00', '2026-03-01T04:20:30.500Z'],
    ] as const;
    for (const [text, time] of cases) expect(parseBound(text).toISOString(), text).to.equal(time);
  });

  it('is refused in any other form, and for a day that does not exist', () => {
    for (const text of ['', '30d', '2026-02-30', '2026-3-1', '2026-03-01T10:20', '2026-03-01T25:00:00Z']) {
      expect(() => parseBound(text), text).to.throw(InvalidArgumentError, 'Give a day in UTC');
    }
  });

  it('is converted to a timestamp to the millisecond, before 1970 too', () => {
    expect(timestampOf(new Date(1_500))).to.deep.equal({ seconds: 1n, nanos: 500_000_000 });
    expect(timestampOf(new Date(-500))).to.deep.equal({ seconds: -1n, nanos: 500_000_000 });
  });
});
