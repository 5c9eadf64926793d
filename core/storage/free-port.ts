// A TCP port of this machine that nobody listens on.
import { createServer } from 'node:net';

/**
 * Of 127.0.0.1. It is free now: somebody else may take it before the caller does.
 * @param wanted this one, or else an Error; 0: any
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
