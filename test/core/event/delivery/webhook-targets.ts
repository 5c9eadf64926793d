// Servers on loopback that webhooks are sent to, or must not reach.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

export type Target = {
  readonly port: number;
  /** All connections so far. */
  readonly connections: Socket[];
  close(): Promise<void>;
};

/** Accepts TCP connections and hands each to `accept`, which may write anything. By default it stays silent. */
export function startTarget(
  accept: (socket: Socket) => void = () => {},
  { port = 0, address = '127.0.0.1' } = {},
): Promise<Target> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume();
    accept(socket);
  });
  return listen(server, port, address);
}

/** Counts the connections of a server that does not listen yet, and lets it listen. */
export async function listen(server: Server, port = 0, address = '127.0.0.1'): Promise<Target> {
  const connections: Socket[] = [];
  server.on('connection', (socket) => connections.push(socket));
  server.listen(port, address);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    connections,
    async close() {
      for (const socket of connections) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
