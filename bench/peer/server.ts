// The peer: what a good engineer writes in an afternoon with Fastify and pg. No batching, no logging, no rate limit.
import { parse } from 'node:querystring';
import Fastify from 'fastify';
import { activate } from './activate.ts';
import { receiveCallback } from './callback.ts';
import { openPool } from './pool.ts';
import { publicKey } from './public-key.ts';
import { checkStatus } from './status.ts';

const pool = openPool();
const app = Fastify({ logger: false });
app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
  done(null, parse(body.toString())),
);
activate(app, pool);
checkStatus(app, pool);
publicKey(app, pool);
receiveCallback(app, pool, process.env['PROVIDER_URL'] ?? '');

const address = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${JSON.stringify({ ready: 'peer', port: Number(new URL(address).port) })}\n`);
process.on('SIGTERM', () => process.exit(0));
