// How many requests of a client may be under way, and how much of their answers unread.
import { once } from 'node:events';
import { expect } from 'chai';
import { createRequestCap } from '../../../lib/net/client-limits.ts';
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
