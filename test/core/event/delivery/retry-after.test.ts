// The pause that an endpoint asks for.
import { expect } from 'chai';
import { retryAfterMs } from '../../../../core/event/delivery/send-webhook.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const DAY_MS = 24 * 60 * 60 * 1000;

describe('Retry-After', () => {
  const cases: readonly (readonly [string | undefined, number | undefined])[] = [
    ['120', 120_000],
    ['0', 0],
    ['Sun, 01 Mar 2026 12:00:30 GMT', 30_000],
    ['Sun, 01 Mar 2026 11:00:00 GMT', 0],
    ['86401', DAY_MS],
    ['9'.repeat(400), DAY_MS],
    ['Fri, 31 Dec 9999 23:59:59 GMT', DAY_MS],
    ['-1', undefined],
    ['1.5', undefined],
    ['', undefined],
    ['soon', undefined],
    ['2026-03-01T12:00:30Z', undefined],
    ['Sun, 99 Mar 2026 12:00:30 GMT', undefined],
    [undefined, undefined],
  ];
  for (const [value, expected] of cases) {
    it(`of ${value?.slice(0, 40)} is ${expected} ms`, () => {
      expect(retryAfterMs(value, NOW)).to.equal(expected);
    });
  }
});
