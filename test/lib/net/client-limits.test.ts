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
    expect(surviving).to.be.below(4_000_000);
  });
});

describe('a quota', () => {
  it('counts the use of each key', () => {
    const step = fc.record({ takes: fc.boolean(), key: fc.nat({ max: 600 }), amount: fc.nat({ max: 3 }) });
    const burst = fc.record({ keys: fc.integer({ min: 300, max: 900 }) });
    fc.assert(
      fc.property(fc.array(fc.oneof(step, burst), { minLength: 50, maxLength: 300 }), (steps) => {
        const quota = new Quota<string>(2);
        const model = new Map<string, number>();
        const change = (key: string, amount: number): void => {
          if (amount > 0) quota.take(key, amount);
          else quota.release(key, -amount);
          model.set(key, Math.max(0, (model.get(key) ?? 0) + amount));
        };
        for (const each of steps) {
          if ('keys' in each) {
            for (let key = 0; key < each.keys; key++) change(`burst ${key}`, 1);
            for (let key = 0; key < each.keys; key++) change(`burst ${key}`, -1);
          } else change(`${each.key}`, each.takes ? each.amount : -each.amount);
        }
        for (const [key, used] of model) {
          expect(quota.used(key)).to.equal(used);
          expect(quota.hasRoom(key)).to.equal(used < 2);
        }
      }),
    );
  });

  it('forgets the keys that are no longer used', async () => {
    const quota = new Quota<object | string>(1);
    collectAll();
    const before = process.memoryUsage().heapUsed;
    const refs: WeakRef<object>[] = [];
    const taken: (object | string)[] = Array.from({ length: 5_000 }, (_, index) =>
      index % 2 === 0 ? {} : `client ${index} ${'a'.repeat(20_000)}`,
    );
    for (const key of taken) {
      if (typeof key === 'object') refs.push(new WeakRef(key));
      quota.take(key);
    }
    for (const key of taken) quota.release(key);
    for (let index = 0; index < 5_000; index++) quota.release(`unknown ${index}`, 0);
    taken.length = 0;
    await nextTurn(); // until then, a WeakRef keeps its object
    collectAll();
    expect(refs.filter((ref) => ref.deref() !== undefined)).to.have.length(0);
    // The texts have 50 MB; the quota keeps 256 of them.
    expect(process.memoryUsage().heapUsed - before).to.be.below(20_000_000);
  });

  it('leaves nothing in old space if a key comes and goes with each request', async () => {
    const quota = new Quota<unknown>(1);
    const socket = {};
    const surviving = await survivingBytes(100_000, () => {
      for (const key of ['client', socket]) {
        quota.take(key);
        quota.release(key);
      }
    });
    expect(surviving).to.be.below(1_000_000);
  });
});
