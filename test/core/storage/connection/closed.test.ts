// A server, or a proxy without one, that takes connections and closes them.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect } from 'chai';
import { createClient } from '../../../../core/storage/connection/client.ts';
import { parseConnectionString } from '../../../../core/storage/connection/connection-string.ts';
import { isDatabaseUnavailable } from '../../../../core/storage/sql/transient-errors.ts';

describe('a connection closed by the server', () => {
  for (const sslMode of ['disable', 'prefer', 'require']) {
    it(`before a response counts as an outage, with sslmode=${sslMode}`, async () => {
      const server = createServer((socket) => {
        socket.on('error', () => {}).once('data', () => socket.end());
      });
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo; // it listens on TCP
      const url = `postgres://hub:secret@127.0.0.1:${port}/hub?sslmode=${sslMode}`;
      const client = createClient(parseConnectionString(url), 'hub');
      client.on('error', () => {});
      try {
        const failure = await client.connect().then(
          () => 'it connects',
          (error) => error,
        );
        expect(isDatabaseUnavailable(failure), `${failure}, ${failure.code}`).to.equal(true);
      } finally {
        server.close();
      }
    });
  }
});
