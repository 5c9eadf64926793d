// GET /v1/status/{licenseId} of the peer: one prepared statement.
import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { Refusal } from './refuse.ts';

const schema = {
  querystring: { type: 'object', properties: { fp: { type: 'string', minLength: 1, maxLength: 256 } } },
  response: {
    200: {
      type: 'object',
      properties: {
        ok: { type: 'boolean' },
        licenseId: { type: 'string' },
        state: { type: 'string' },
        seats: { type: 'object', properties: { limit: { type: 'integer' }, used: { type: 'integer' } } },
        expiresAt: { type: 'string' },
        limits: { type: 'object', additionalProperties: { type: 'integer' } },
        termsVersion: { type: 'integer' },
        checkedAt: { type: 'string' },
        recheckAfterSeconds: { type: 'integer' },
      },
    },
  },
};

const STATUS = `
  select l.seat_limit, l.terms_version, l.limits, l.expires_at, l.revoked_at,
         (select count(*)::int from seat s where s.license_id = l.id and s.released_at is null) as used,
         exists (select from seat s where s.license_id = l.id and s.machine_fingerprint = $2 and s.released_at is null) as seated
  from license l where l.id = $1`;

export async function readStatus(pool: Pool, licenseId: string, fingerprint: string | null) {
  const values = [licenseId, fingerprint];
  return (await pool.query({ name: 'status', text: STATUS, values })).rows[0];
}

export function checkStatus(app: FastifyInstance, pool: Pool): void {
  app.get<{ Params: { licenseId: string }; Querystring: { fp?: string } }>(
    '/v1/status/:licenseId',
    { schema },
    async ({ params: { licenseId }, query: { fp } }) => {
      const row = await readStatus(pool, licenseId, fp ?? null);
      if (row === undefined) throw new Refusal(404, 'license_unknown');
      const now = new Date();
      if (row.revoked_at !== null) throw new Refusal(410, 'license_revoked');
      if (row.expires_at !== null && row.expires_at <= now) throw new Refusal(410, 'license_expired');
      if (fp !== undefined && !row.seated) throw new Refusal(403, 'seat_not_active');
      return {
        ok: true,
        licenseId,
        state: 'active',
        seats: { limit: row.seat_limit, used: row.used },
        expiresAt: row.expires_at?.toISOString(),
        limits: row.limits ?? undefined,
        termsVersion: row.terms_version,
        checkedAt: now.toISOString(),
        recheckAfterSeconds: 86_400,
      };
    },
  );
}
