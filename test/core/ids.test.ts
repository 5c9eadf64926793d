import { expect } from 'chai';
import { newUuid } from '../../core/ids.ts';

const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

describe('newUuid', () => {
  const { now } = Date;
  afterEach(() => {
    Date.now = now;
  });

  it('makes UUIDs of version 7 that increase', () => {
    const ids = Array.from({ length: 10_000 }, newUuid);
    expect(ids.filter((id) => !UUID_V7.test(id))).to.deep.equal([]);
    expect(ids).to.deep.equal([...new Set(ids)].toSorted());
  });

  it('starts with the time in milliseconds', () => {
    const at = now() + 1; // later than the last id
    Date.now = () => at;
    expect(Number.parseInt(newUuid().replaceAll('-', '').slice(0, 12), 16)).to.equal(at);
  });

  it('increases when the clock is set back', () => {
    const before = newUuid();
    Date.now = () => now() - 3_600_000;
    expect(newUuid() > before).to.equal(true);
  });

  it('starts to count at a random number in the lower half of the range', () => {
    const at = now();
    let ms = 0;
    Date.now = () => at + ++ms;
    const ids = Array.from({ length: 1_000 }, newUuid);
    expect(ids.filter((id) => !/^.{15}[0-7]/.test(id))).to.deep.equal([]);
    // The 31 bits of the counter, between version and variant, and after the variant.
    expect(new Set(ids.map((id) => id.slice(15, 23)))).to.have.length.above(990);
  });

  it('has new random bits in each UUID', () => {
    Date.now = () => 0; // the bits before the last 40 count
    const tails = Array.from({ length: 1_000 }, () => newUuid().slice(-10));
    expect(new Set(tails)).to.have.length(1_000);
  });
});
