// How many requests of a client may be under way, how much of their answers unread, and the list of them.
import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import fc from 'fast-check';
import { createRequestCap, type Link, LinkedList } from '../../../lib/net/client-limits.ts';
import { getBy, TestListener } from '../../core/rpc/server/test-listener.ts';
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
