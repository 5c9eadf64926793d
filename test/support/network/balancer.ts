// A connection balancer, like a cluster's service or a proxy: each new connection goes to the next server.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type Balancer = {
  /** The initial URL through the balancer. */
  readonly url: string;
  /** Directs new connections to these servers in turn. Open connections stay at their server. */
  leadTo(urls: readonly string[]): void;
  close(): void;
};

export async function startBalancer(urls: readonly string[]): Promise<Balancer> {
  let targets = urls.map((url) => new URL(url));
  let turn = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const target = targets[turn++ % targets.length];
    if (target === undefined) return void near.destroy();
    const far = connect(Number(target.port), target.hostname);
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => {}); // the close event handles it
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has a port
  const url = new URL(urls[0] ?? 'http://127.0.0.1');
  url.port = String(port);
  return {
    url: url.origin,
    leadTo: (others) => {
      targets = others.map((each) => new URL(each));
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
