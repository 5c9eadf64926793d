import { expect } from 'chai';
import { shareNextRun } from '../../core/share-next-run.ts';

describe('callers of a shared run', () => {
  it('join a run of their key that has not begun, and no other', async () => {
    const begun: string[] = [];
    const ends: PromiseWithResolvers<void>[] = [];
    const share = shareNextRun((key: string) => {
      begun.push(key);
      const end = Promise.withResolvers<void>();
      ends.push(end);
      return end.promise;
    });
    const first = share('a');
    expect(share('a')).to.equal(first);
    const other = share('b');
    await Promise.resolve();
    expect(begun).to.deep.equal(['a', 'b']);
    const second = share('a');
    expect(second).to.not.equal(first);
    expect(share('a')).to.equal(second);
    expect(begun).to.deep.equal(['a', 'b']);

    ends[0]?.reject(new Error('the first fails'));
    ends[1]?.resolve();
    expect(await first.catch(({ message }) => message)).to.equal('the first fails');
    await other;
    await Promise.resolve();
    expect(begun).to.deep.equal(['a', 'b', 'a']);
    ends[2]?.resolve();
    await second;

    const third = share('a');
    await Promise.resolve();
    ends[3]?.resolve();
    await third;
    expect(begun).to.deep.equal(['a', 'b', 'a', 'a']);
  });
});
