// The short form of the soak test: checks the meter and the records. npm run fault -- soak looks for leaks.
import { expect } from 'chai';
import { soak } from './runs/soak.ts';

const SECONDS = 6;
/** A short run detects only large leaks, so this limit is generous. */
const GROWTH = 1.5;

describe('a hub under mixed load for a while', () => {
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
