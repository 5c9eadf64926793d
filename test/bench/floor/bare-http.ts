// The floor of the public key case: bare node:http that returns the same text from memory.
import { createServer } from 'node:http';
import { listen } from '../sides/listen.ts';

const PEM = process.env['PUBLIC_KEY_PEM'] ?? '';
const HEADERS = { 'Content-Type': 'application/x-pem-file', 'Content-Length': Buffer.byteLength(PEM) };

const server = createServer((_request, response) => {
  response.writeHead(200, HEADERS);
  response.end(PEM);
});
listen(server);
