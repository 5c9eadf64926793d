// The end of `startProgram` in the program that is started.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a free port of this machine and says which; SIGTERM ends the program at once. */
export function listen(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo; // it listens on TCP
    process.stdout.write(`${JSON.stringify({ ready: true, port })}\n`);
  });
  process.on('SIGTERM', () => process.exit(0));
}
