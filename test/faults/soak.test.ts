// The short form of the soak: shows that it meters, and that the books agree. npm run fault -- soak  looks for leaks.
import { expect } from 'chai';
import { soak } from './runs/soak.ts';

const SECONDS = 6;
/** A leak that shows in so short a time is none that one has to look for. */
const GROWTH = 1.5;

describe('a hub under mixed load for a while', function () {
  this.timeout(180_000);

  it('has a stable heap and answers all requests correctly', async () => {
    const soaked = await soak(SECONDS * 1_000);
    expect(soaked.trouble).to.deep.equal([]);
    expect(soaked.served).to.be.above(0);
    expect(soaked.paid).to.be.above(0);
    expect(soaked.readings.length).to.be.above(10);
    expect(soaked.heapAfter).to.be.within(1, GROWTH * soaked.heapBefore);
    expect(soaked.refused).to.equal(0);
    expect(soaked.lateMost).to.be.above(0);
  });
});
