// Finds a free TCP port of this machine.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/**
 * Checks 127.0.0.1. Another program may take the port before the caller does.
 * @param wanted The port to check; 0: any. @throws Error if it is in use
 */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer().listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  server.close();
  await once(server, 'close');
  return port;
}
