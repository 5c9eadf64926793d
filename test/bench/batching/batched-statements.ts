// Batches the statements of the bare peer: bare node:http, and one statement for all waiting requests. It has no
// validation, limits, log, metrics or headers, and shows the effect of batching alone.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import pg from 'pg';
import { createBatcher } from '../../../core/storage/sql/batcher.ts';
import { listen } from '../sides/listen.ts';

const BATCHES = { maxSize: 128, maxInFlight: 2 };

const pool = new pg.Pool({
  connectionString: process.env['DATABASE_URL'],
  // Batches differ in length, and PostgreSQL would plan each one again.
  options: '-c plan_cache_mode=force_generic_plan',
});

type Check = { readonly licenseId: string; readonly fingerprint: string | null };

const check = createBatcher<Check, Record<string, unknown>>({
  ...BATCHES,
  run: async (checks) => {
    const { rows } = await pool.query({
      name: 'status',
      text: `select l.seat_limit, l.limits, l.expires_at, l.revoked_at,
                    (select count(*)::int from seat s where s.license_id = l.id and s.released_at is null) as used,
                    exists (select from seat s where s.license_id = l.id and s.machine_fingerprint = t.fingerprint
                                                 and s.released_at is null) as seated
             from unnest($1::text[], $2::text[]) with ordinality as t (id, fingerprint, position)
             join license l on l.id = t.id order by t.position`,
      values: [checks.map(({ licenseId }) => licenseId), checks.map(({ fingerprint }) => fingerprint)],
    });
    return rows; // the benchmark requests only existing licenses
  },
});

const publicKey = createBatcher<string, { readonly kid: string; readonly public_key_pem: string }>({
  ...BATCHES,
  run: async (slugs) => {
    const text = `select kid, public_key_pem from unnest($1::text[]) with ordinality as t (slug, position)
                  join app using (slug) order by position`;
    return (await pool.query({ name: 'public_key', text, values: [slugs] })).rows;
  },
});

type Callback = { readonly sessionId: string | null; readonly fields: object };

const journal = createBatcher<Callback, void>({
  ...BATCHES,
  run: async (callbacks) => {
    await pool.query({
      name: 'callback',
      text: `insert into callback (session_id, fields, received_at, state)
             select session_id, fields, now(), 'received' from unnest($1::text[], $2::jsonb[]) as t (session_id, fields)`,
      values: [callbacks.map(({ sessionId }) => sessionId), callbacks.map(({ fields }) => fields)],
    });
    return callbacks.map(() => undefined);
  },
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://batched');
  const [, , what, name = ''] = pathname.split('/');
  switch (what) {
    case 'status': {
      const row = await check({ licenseId: name, fingerprint: searchParams.get('fp') });
      const { seat_limit: limit, used, limits, seated } = row;
      const checkedAt = new Date().toISOString();
      return send(
        response,
        'application/json',
        JSON.stringify({
          ok: seated,
          licenseId: name,
          state: 'active',
          seats: { limit, used },
          limits,
          termsVersion: 1,
          checkedAt,
          recheckAfterSeconds: 86_400,
        }),
      );
    }
    case 'apps':
      return send(response, 'application/x-pem-file', (await publicKey(name)).public_key_pem);
    default: {
      let body = '';
      for await (const chunk of request) body += chunk;
      const fields = Object.fromEntries(new URLSearchParams(body));
      await journal({ sessionId: searchParams.get('session_id'), fields });
      return send(response, 'application/json', '{"message":"received"}');
    }
  }
}

function send(response: ServerResponse, type: string, body: string): void {
  response.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => response.writeHead(500).end(String(error)));
});
listen(server);
