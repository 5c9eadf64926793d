// How many requests of a client may be under way, how much of their answers unread, and the list of them.
import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { createRequestCap, type Link, LinkedList, Quota } from '../../../lib/net/client-limits.ts';
import { getBy, TestListener } from '../../core/rpc/server/test-listener.ts';
import { collectAll, survivingBytes } from '../../support/survivors.ts';
import { until } from '../../support/until.ts';

describe('the concurrent requests of a client', () => {
  let server: TestListener;
  const start = async (options: Parameters<typeof createRequestCap>[0]): Promise<void> => {
    server = await TestListener.start({ admitExchange: createRequestCap(options) });
  };
  afterEach(() => server.stop());

  it('are limited over all its connections, until one is answered', async () => {
    await start({ perClient: 3 });
    const sessions = [await server.openSession(), await server.openSession()];
    const slow = [0, 1, 0].map((index) => getBy(sessions[index] ?? expect.fail(), '/slow'));
    await until(() => server.asked === 3, 'three are running');
    const refused = sessions[1]?.request({ ':path': '/' }) ?? expect.fail();
    refused.on('error', () => {});
    await until(() => refused.closed, 'the fourth is cut');
    expect(refused.rstCode).to.equal(7); // REFUSED_STREAM
    server.release();
    expect(await Promise.all(slow)).to.deep.equal(['2.0', '2.0', '2.0']);
    expect(await getBy(sessions[1] ?? expect.fail(), '/')).to.equal('2.0');
  });

  it('are not limited by the address of a proxy', async () => {
    await start({ perClient: 1, isExempt: (address) => address === '127.0.0.1' });
    const session = await server.openSession();
    const slow = [getBy(session, '/slow'), getBy(session, '/slow')];
    await until(() => server.asked === 2, 'both are running');
    server.release();
    await Promise.all(slow);
  });

  it('are limited on one pipelined HTTP/1.1 connection', async () => {
    await start({ perHttp1Connection: 10 });
    const socket = await server.openSocket();
    const closed = once(socket, 'close');
    socket.write('GET /slow HTTP/1.1\r\nHost: hub\r\n\r\n'.repeat(11));
    await closed;
    expect(server.asked).to.equal(10);
  });
});

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

  it("leaves removed items to the young generation's collection, although the list is old", async () => {
    const list = new LinkedList<number[]>();
    const open: Link<number[]>[] = [];
    const surviving = await survivingBytes(4_000, () => {
      open.push(list.add(Array<number>(1_000).fill(0)));
      if (open.length > 8) list.remove(open.shift() as Link<number[]>); // there are eight more
    });
    // 32 MB went through it; a Set keeps most of them.
    expect(surviving).to.be.below(2_000_000);
  });
});

describe('a quota', () => {
  it('counts the use of each key', () => {
    const key = fc.nat({ max: 2_000 });
    fc.assert(
      fc.property(fc.array(fc.record({ takes: fc.boolean(), key }), { minLength: 1_000 }), (steps) => {
        const quota = new Quota<number>(2);
        const model = new Map<number, number>();
        for (const { takes, key } of steps) {
          const used = model.get(key) ?? 0;
          if (takes) quota.take(key);
          else if (used > 0) quota.release(key);
          model.set(key, Math.max(0, used + (takes ? 1 : -1)));
          expect(quota.used(key)).to.equal(model.get(key));
          expect(quota.hasRoom(key)).to.equal((model.get(key) ?? 0) < 2);
        }
        for (const [key, used] of model) expect(quota.used(key)).to.equal(used);
      }),
    );
  });

  it('forgets the keys that are no longer used', async () => {
    const quota = new Quota<object>(1);
    let key = {};
    const refs: WeakRef<object>[] = [];
    await survivingBytes(5_000, async () => {
      key = {};
      refs.push(new WeakRef(key));
      quota.take(key);
      quota.release(key);
      await nextTurn(); // until then, a WeakRef keeps its object
    });
    collectAll();
    expect(refs.filter((ref) => ref.deref() !== undefined)).to.have.length.below(600);
  });

  it('leaves nothing in old space if a key comes and goes with each request', async () => {
    const quota = new Quota<string>(1);
    const surviving = await survivingBytes(100_000, () => {
      quota.take('client');
      quota.release('client');
    });
    expect(surviving).to.be.below(100_000);
  });
});
