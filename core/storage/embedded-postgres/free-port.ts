// Finds a free TCP port of this machine.
import { createServer } from 'node:net';

/**
 * Checks 127.0.0.1. Another program may take the port before the caller does.
 * @param wanted The port to check; 0: any. @throws Error if it is in use
 */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer();
  return await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(wanted, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('the operating system offered no TCP port'));
      });
    });
  });
}
