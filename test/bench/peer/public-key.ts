// GET /v1/apps/{slug}/public-key of the peer.
import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { Refusal } from './refuse.ts';

export function publicKey(app: FastifyInstance, pool: Pool): void {
  app.get<{ Params: { slug: string } }>('/v1/apps/:slug/public-key', async ({ params: { slug } }, reply) => {
    const text = 'select kid, public_key_pem from app where slug = $1';
    const [row] = (await pool.query({ name: 'public_key', text, values: [slug] })).rows;
    if (row === undefined) throw new Refusal(404, 'app_unknown');
    return reply
      .header('etag', `"${row.kid}"`)
      .header('cache-control', 'public, max-age=300')
      .type('application/x-pem-file')
      .send(row.public_key_pem);
  });
}
