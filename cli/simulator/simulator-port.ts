// The simulator's port, which can go down for a while and come back.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** `refused`: the port is closed. `dropped`: connections are accepted and closed. */
export type Outage = 'refused' | 'dropped';

export type SimulatorPortOptions = {
  readonly host: string;
  /** 0 means any free port. */
  readonly port: number;
  /** Requests that are served even while connections are dropped. */
  readonly always: (request: IncomingMessage) => boolean;
};

const RETRY_MS = 100;

/** @throws Error if the port is in use */
export async function openSimulatorPort(
  listener: (request: IncomingMessage, response: ServerResponse) => void,
  { host, port, always }: SimulatorPortOptions,
) {
  const sockets = new Set<Socket>();
  const exemptSockets = new WeakSet<Socket>();
  let outage: Outage | undefined;
  let timer: NodeJS.Timeout | undefined;

  const server = createServer((request, response) => {
    if (always(request)) exemptSockets.add(request.socket);
    else if (outage !== undefined) return void request.socket.destroy();
    listener(request, response);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(port, host);
  await once(server, 'listening');
  const { port: actual } = server.address() as AddressInfo; // it listens on TCP

  const listenAgain = (): void => {
    if (!server.listening) server.listen(actual, host);
  };
  // Another process took the port: it may become free again.
  server.on('error', () => {
    timer = setTimeout(listenAgain, RETRY_MS);
  });

  return {
    port: actual,
    /** Makes providers and pages unreachable for this time. Another call replaces the outage. */
    down(ms: number, how: Outage): void {
      clearTimeout(timer);
      outage = how;
      if (how === 'refused') server.close();
      else listenAgain();
      for (const socket of sockets) if (!exemptSockets.has(socket)) socket.destroy();
      timer = setTimeout(() => {
        outage = undefined;
        listenAgain();
      }, ms);
    },
    async close(): Promise<void> {
      clearTimeout(timer);
      server.removeAllListeners('error').on('error', () => {});
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
