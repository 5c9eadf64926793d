// What comes and goes in order, and leaves nothing behind.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import { type Link, LinkedList } from '../../../lib/net/slow-client-watchdog.ts';

describe('a linked list', () => {
  it('contains the added items without the removed ones, in order', () => {
    const steps = fc.array(fc.record({ adds: fc.boolean(), which: fc.nat() }));
    fc.assert(
      fc.property(steps, (wanted) => {
        const list = new LinkedList<number>();
        const links: Link<number>[] = [];
        let model: number[] = [];
        for (const [value, { adds, which }] of wanted.entries()) {
          const link = links[which % links.length];
          if (adds || link === undefined) {
            links.push(list.add(value));
            model.push(value);
          } else {
            list.remove(link);
            model = model.filter((each) => each !== link.value);
          }
          expect([...list]).to.deep.equal(model);
          expect(list.size).to.equal(model.length);
          expect(list.first?.value).to.equal(model[0]);
        }
      }),
    );
  });

  it('can be iterated while items are removed', () => {
    const list = new LinkedList<number>();
    const links = [1, 2, 3].map((value) => list.add(value));
    const found: number[] = [];
    for (const value of list) {
      found.push(value);
      for (const link of links) if (link.value === value) list.remove(link);
    }
    expect(found).to.deep.equal([1, 2, 3]);
    expect(list.size).to.equal(0);
  });

  it("leaves removed items to the young generation's collection, although the list is old", () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as (options: { type: 'major' | 'minor' }) => void; // as V8's own extension has it
    const list = new LinkedList<number[]>();
    const open: Link<number[]>[] = [];
    const turnOver = (): void => {
      open.push(list.add(Array<number>(1_000).fill(0)));
      if (open.length > 8) list.remove(open.shift() as Link<number[]>); // there are eight more
    };
    for (let time = 0; time < 100; time++) turnOver();
    collect({ type: 'major' });
    const before = process.memoryUsage().heapUsed;
    for (let time = 0; time < 4_000; time++) {
      turnOver();
      if (time % 500 === 0) collect({ type: 'minor' });
    }
    collect({ type: 'minor' });
    // 32 MB went through it; a Set keeps most of them.
    expect(process.memoryUsage().heapUsed - before).to.be.below(8_000_000);
  });
});
