// The counterpart of `startProgram` in the program that it starts.
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on a free port of 127.0.0.1 and prints the port. SIGTERM ends the program at once. */
export function listen(server: Server): void {
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo; // a TCP server has a port
    process.stdout.write(`${JSON.stringify({ ready: true, port })}\n`);
  });
  process.on('SIGTERM', () => process.exit(0));
}
