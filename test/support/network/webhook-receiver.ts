// A receiver of webhooks: a real HTTP server that keeps what it received.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ReceivedWebhook = {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The parsed body. */
  readonly event: {
    readonly type: string;
    readonly timestamp: string;
    readonly sequence: number;
    readonly data: Readonly<Record<string, unknown>>;
  };
  /** Monotonic milliseconds. */
  readonly atMs: number;
};

export type WebhookReceiver = {
  readonly url: string;
  readonly received: ReceivedWebhook[];
  /** How it answers, given the request. Default: 204. Nothing is sent for undefined. */
  answer: (webhook: ReceivedWebhook, response: ServerResponse) => number | undefined;
  close(): Promise<void>;
};

export async function startWebhookReceiver(port = 0): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const webhook: ReceivedWebhook = {
      path: request.url ?? '',
      headers: request.headers as Record<string, string>, // a webhook repeats no header
      body,
      event: JSON.parse(body),
      atMs: performance.now(),
    };
    received.push(webhook);
    const status = receiver.answer(webhook, response);
    if (status !== undefined) response.writeHead(status).end();
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answer: () => 204,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return receiver;
}
