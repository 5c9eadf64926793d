// The public address for callbacks: forwards them to the running hubs and records the responses.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { driverOf, keptFields, OTHER_FIELDS } from '../../../core/payment/providers/registry.ts';
import { parseForm } from '../../../gateway/body/read-body.ts';

export type FrontDoor = {
  readonly url: string;
  /** The responses to callers, in order. */
  readonly passages: readonly Passage[];
  /** Forwards callbacks to these gateways in turn from now on. Without any, the response is 503. */
  leadTo(gatewayUrls: readonly string[]): void;
  close(): Promise<void>;
};

/** A forwarded request. Its field `passage` contains its number. */
export type Passage = {
  readonly number: number;
  /** The journal's digest of the fields that no driver reads. It is unique because it includes `passage`. */
  readonly mark: string | undefined;
  readonly status: number;
  readonly durationMs: number;
  /** Undefined if the response has no such header. */
  readonly retryAfter: string | undefined;
};

export async function openFrontDoor(): Promise<FrontDoor> {
  let gateways: readonly string[] = [];
  let count = 0;
  const passages: Passage[] = [];

  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const number = ++count;
    const body = await text(request);
    const start = performance.now();
    const gateway = gateways[number % gateways.length];
    const sent = markedRequest(request, body, number);
    const { status, answer, retryAfter = undefined } = await forward(gateway, sent);
    passages.push({ number, mark: sent.mark, status, durationMs: performance.now() - start, retryAfter });
    response.writeHead(status).end(answer);
  };
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy()); // the caller has disconnected
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has a port

  return {
    url: `http://127.0.0.1:${port}`,
    passages,
    leadTo(gatewayUrls) {
      gateways = gatewayUrls;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

type MarkedRequest = {
  readonly path: string;
  readonly init: RequestInit;
  readonly mark: string | undefined;
};

/** The request with the field `passage` in its form, or in its query if it has no form. */
function markedRequest(request: IncomingMessage, body: string, number: number): MarkedRequest {
  const { method = 'GET', url = '/', headers } = request;
  const { pathname, searchParams } = new URL(url, 'http://door');
  const isForm = method === 'POST';
  if (!isForm) searchParams.set('passage', `${number}`);
  const form = `${body}&passage=${number}`;
  const { session_id: _, ...fields } = parseForm(isForm ? form : `${searchParams}`);
  const { callback } = driverOf(pathname.split('/').at(-1) ?? '');
  return {
    path: `${pathname}?${searchParams}`,
    init: {
      method,
      ...(isForm && { body: form, headers: { 'content-type': headers['content-type'] ?? '' } }),
    },
    mark: keptFields(callback, fields)[OTHER_FIELDS],
  };
}

/** Forwards like a load balancer: once, with a 502 response if the hub fails before it answers. */
async function forward(
  gateway: string | undefined,
  { path, init }: MarkedRequest,
): Promise<{ status: number; answer: string; retryAfter?: string | undefined }> {
  if (gateway === undefined) return { status: 503, answer: 'no hub is there' };
  try {
    const response = await fetch(new URL(path, gateway), { ...init, redirect: 'manual' });
    const retryAfter = response.headers.get('retry-after') ?? undefined;
    return { status: response.status, answer: await response.text(), retryAfter };
  } catch {
    return { status: 502, answer: 'the hub did not answer' };
  }
}
