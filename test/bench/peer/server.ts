// The peer: a simple server with Fastify and pg, without batching. `HUB_BENCH_WORK=same` adds the hub's work:
// every request has a log line, all but callbacks have a rate limit in Redis, the callbacks of a session are limited,
// and calls to the provider are recorded. Without it this is the bare peer.
import { parse } from 'node:querystring';
import rateLimit from '@fastify/rate-limit';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import { activate } from './activate.ts';
import { receiveCallback } from './callback.ts';
import { openPool } from './pool.ts';
import { publicKey } from './public-key.ts';
import { checkStatus } from './status.ts';

const isBare = process.env['HUB_BENCH_WORK'] !== 'same';
const pool = openPool();
const app = isBare ? Fastify({ logger: false }) : Fastify({ logger: true, disableRequestLogging: true });
app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
  done(null, parse(body.toString())),
);
if (!isBare) await addRateLimitAndLog();
activate(app, pool);
checkStatus(app, pool);
publicKey(app, pool);
receiveCallback(app, pool, { providerUrl: process.env['PROVIDER_URL'] ?? '', isBare });

const address = await app.listen({ host: '127.0.0.1', port: 0 });
process.stdout.write(`${JSON.stringify({ ready: 'peer', port: Number(new URL(address).port) })}\n`);
process.on('SIGTERM', () => process.exit(0));

/** The limit is as high as the hub's: it counts each request but callbacks, and refuses none. */
async function addRateLimitAndLog(): Promise<void> {
  const redisUrl = process.env['REDIS_URL'];
  await app.register(rateLimit, {
    max: Number(process.env['RATE_PER_MINUTE']),
    timeWindow: '1 minute',
    allowList: ({ url }) => url.startsWith('/v1/webhooks/'), // the hub does not limit them by client either
    ...(redisUrl !== undefined && { redis: new Redis(redisUrl) }),
  });
  app.addHook('onResponse', async (request, reply) => {
    const { method, url, ip, id } = request;
    request.log.info(
      { requestId: id, method, url, ip, status: reply.statusCode, ms: reply.elapsedTime },
      'request',
    );
  });
}
