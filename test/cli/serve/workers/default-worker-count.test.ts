import { expect } from 'chai';
import { readSettings } from '../../../../cli/serve/settings.ts';
import { defaultWorkerCount } from '../../../../cli/serve/workers/default-worker-count.ts';

describe('the automatic number of workers', () => {
  it('is one for every two processors, from one to four', () => {
    const redisUrl = 'redis://127.0.0.1';
    const numbers = [1, 2, 3, 4, 7, 8, 64].map((processors) => defaultWorkerCount({ redisUrl }, processors));
    expect(numbers).to.deep.equal([1, 1, 1, 2, 3, 4, 4]);
  });

  it('is one without Redis, so that limits count for the whole hub', () => {
    expect(defaultWorkerCount({}, 64)).to.equal(1);
  });

  it('applies to HUB_WORKERS=auto and to no value', () => {
    for (const environment of [{}, { HUB_WORKERS: 'auto' }]) {
      const redis = { ...environment, REDIS_URL: 'redis://127.0.0.1' };
      const settings = readSettings({}, redis);
      expect(settings.workers).to.equal(defaultWorkerCount(settings));
    }
    expect(readSettings({ workers: '3' }, {}).workers).to.equal(3);
  });

  it('refuses another word', () => {
    expect(() => readSettings({ workers: 'many' }, {})).to.throw(
      '--workers: must be auto, or a whole number from 1 to 64, not "many"',
    );
  });
});
