// A receiver of webhooks in a process of its own. It answers 204, and writes for each webhook its type, the time of
// its event and the time of its arrival to a file. Below /hang it never answers.
import { createWriteStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const log = createWriteStream(process.env['SINK_LOG'] ?? '/dev/null');
const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/hang') return;
    const arrived = Date.now();
    const { type, timestamp } = JSON.parse(Buffer.concat(chunks).toString());
    log.write(`${type} ${Date.parse(timestamp)} ${arrived}\n`);
    response.writeHead(204).end();
  });
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as AddressInfo).port })}\n`);
});
