// The floor under the public key: bare node:http that answers the same text from memory.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const PEM = process.env['PUBLIC_KEY_PEM'] ?? '';
const HEADERS = { 'Content-Type': 'application/x-pem-file', 'Content-Length': Buffer.byteLength(PEM) };

const server = createServer((_request, response) => {
  response.writeHead(200, HEADERS);
  response.end(PEM);
});
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // it listens on TCP
  process.stdout.write(`${JSON.stringify({ ready: 'floor', port })}\n`);
});
process.on('SIGTERM', () => process.exit(0));
