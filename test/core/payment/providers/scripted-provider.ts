// A provider on a real socket with scripted answers.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export type Received = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

/** Writes one answer; a request that nothing was scripted for is answered with HTTP 404. */
export type Scripted = (response: ServerResponse, received: Received) => unknown;

export type ScriptedProvider = {
  readonly url: string;
  /** All requests so far, in order. */
  readonly received: Received[];
  /** Answers requests for the path with each of these in turn, and then with the last again and again. */
  on(path: string, ...answers: readonly [Scripted, ...Scripted[]]): void;
  close(): Promise<void>;
};

export async function startScriptedProvider(): Promise<ScriptedProvider> {
  const scripts = new Map<string, Scripted[]>();
  const received: Received[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://provider');
    const { method = '', headers } = request;
    const entry = { method, path: pathname, query: searchParams, headers, body: await text(request) };
    received.push(entry);
    const script = scripts.get(pathname) ?? [];
    const scripted = script.length > 1 ? script.shift() : script[0];
    await (scripted ?? raw(404, 'Not Found'))(response, entry);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()); // the client hung up
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    on: (path, ...answers) => scripts.set(path, [...answers]),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

export function json(body: unknown, status = 200): Scripted {
  return raw(status, JSON.stringify(body), 'application/json');
}

export function raw(status: number, body: string, contentType = 'text/html'): Scripted {
  return (response) => response.writeHead(status, { 'content-type': contentType }).end(body);
}

/** Takes the request and never answers. */
export const silence: Scripted = () => {};

/** Takes the request and hangs up. */
export const hangUp: Scripted = (response) => response.destroy();
