// How many connections one client may open on the RPC port.
import { openRaw } from '../../../gateway/server/raw-socket.ts';
import { startHub } from '../../../support/hub/hub.ts';
import { until } from '../../../support/until.ts';

describe('connections to the RPC port', () => {
  it('beyond the limit of one client are closed at once, and its others continue', async () => {
    const hub = await startHub({ settings: { connectionsPerClient: 3 } });
    try {
      const port = Number(new URL(hub.rpcUrl).port);
      await hub.admin.listApps({}); // this connection is kept for a while
      const held = await Promise.all([openRaw(port), openRaw(port)]);
      const surplus = await Promise.all([openRaw(port), openRaw(port)]);
      await until(() => surplus.every(({ socket }) => socket.destroyed), 'those beyond the cap are closed');
      await hub.admin.listApps({});
      for (const { socket } of held) socket.destroy();
      await until(async () => {
        const { socket } = await openRaw(port);
        socket.write('GET / HTTP/1.1\r\nHost: hub\r\n\r\n');
        return new Promise((resolve) => {
          socket.once('data', () => resolve(true)).once('close', () => resolve(false));
        });
      }, 'there is room again');
    } finally {
      await hub.stop();
    }
  });
});
