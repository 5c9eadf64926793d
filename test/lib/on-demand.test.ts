import { expect } from 'chai';
import { onDemand } from '../../lib/on-demand.ts';

describe('a value on demand', () => {
  it('is created once, at the first call', async () => {
    let created = 0;
    const value = onDemand(async () => ++created);
    expect(await value.existing()).to.equal(undefined);
    expect(await Promise.all([value.get(), value.get(), value.existing()])).to.deep.equal([1, 1, 1]);
    expect(await value.get()).to.equal(1);
  });

  it('is created again after a failure', async () => {
    let attempts = 0;
    const value = onDemand(async () => {
      attempts++;
      if (attempts === 1) throw new Error('too many open files');
      return attempts;
    });
    const failing = value.get();
    expect(await value.existing()).to.equal(undefined);
    expect(await failing.catch((error: Error) => error.message)).to.equal('too many open files');
    expect(await value.get()).to.equal(2);
    expect(await value.existing()).to.equal(2);
  });
});
