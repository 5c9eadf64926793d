// A provider's HTTP server that answers as a test says.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** One request: the request line, all headers and the body, as text. */
export type Heard = { readonly path: string; readonly everything: string };
export type Reply = { readonly status?: number; readonly body: string };

export type FakeProvider = {
  readonly url: string;
  readonly heard: readonly Heard[];
  close(): Promise<void>;
};

export async function startProvider(answer: (heard: Heard) => Reply | Promise<Reply>): Promise<FakeProvider> {
  const heard: Heard[] = [];
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    const everything = [path, JSON.stringify(request.headers), await text(request)].join('\n');
    heard.push({ path, everything });
    const { status = 200, body } = await answer({ path, everything });
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    heard,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
