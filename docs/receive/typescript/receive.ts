// Receives events of a hub. Needs Node.js 24, and: npm install standardwebhooks
import { createServer, type IncomingMessage } from 'node:http';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.WEBHOOK_SECRET ?? '');
const known = new Set<string>(); // in production: a table in which the id is unique

async function receive(request: IncomingMessage): Promise<number> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk;
    if (body.length > 1_000_000) return 413;
  }
  const headers = request.headers as Record<string, string>;
  const event = webhook.verify(body, headers) as { type: string; data: unknown }; // throws
  const id = headers['webhook-id'] ?? '';
  // Store the event and its id in one transaction.
  if (!known.has(id)) process.stdout.write(`${id} ${event.type}\n`);
  known.add(id);
  return 204;
}

createServer((request, response) => {
  receive(request)
    .catch(() => 400)
    .then((status) => response.writeHead(status).end());
}).listen(Number(process.env.PORT ?? 3000));
