// How often something is looked at on behalf of many.
import { expect } from 'chai';
import { shareRead } from '../../../lib/net/share-read.ts';
import { until } from '../../support/until.ts';

describe('a coalesced read', () => {
  it('is shared by concurrent callers', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    let looks = 0;
    const ask = shareRead(() => {
      looks += 1;
      return promise;
    }, 0);
    const answers = [ask(), ask(), ask()];
    resolve('seen');
    expect(await Promise.all(answers)).to.deep.equal(['seen', 'seen', 'seen']);
    expect(looks).to.equal(1);
  });

  it('is cached for a while, then repeated', async () => {
    let looks = 0;
    const ask = shareRead(async () => ++looks, 30);
    expect([await ask(), await ask()]).to.deep.equal([1, 1]);
    await until(async () => (await ask()) === 2, 'somebody looks again');
  });

  it('fails for all its callers, and is then repeated', async () => {
    let looks = 0;
    const ask = shareRead(async () => {
      looks += 1;
      if (looks === 1) throw new Error('nothing to see');
      return looks;
    }, 30);
    const failures = await Promise.allSettled([ask(), ask()]);
    expect(failures.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    await until(
      () =>
        ask().then(
          (seen) => seen === 2,
          () => false,
        ),
      'a later look succeeds',
    );
  });
});
