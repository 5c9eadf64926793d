// POST /v1/webhooks/gateway_one of the peer: stores a row per callback, and verifies and settles payments.
import type { FastifyInstance } from 'fastify';
import type { Pool } from 'pg';
import { settle } from './settle.ts';
import { createVerify, type Session } from './verify.ts';

type Fields = { status: string; tran_id: string; val_id?: string };

const schema = {
  body: {
    type: 'object',
    required: ['status', 'tran_id'],
    properties: { status: { type: 'string' }, tran_id: { type: 'string' }, val_id: { type: 'string' } },
  },
};

const INSERT_CALLBACK = `
  insert into callback (session_id, fields, received_at, state) values ($1, $2, now(), 'received') returning id`;
const FIND_SESSION = `
  select id, transaction_id, status, amount_minor, currency, offer, customer from charge_session
  where case when $1::text is null then transaction_id = $2 else id = $1 end`;

/** Inserts and commits one row, and resolves with its id. */
export async function journal(pool: Pool, sessionId: string | null, fields: object): Promise<string> {
  const values = [sessionId, fields];
  const { rows } = await pool.query({ name: 'callback', text: INSERT_CALLBACK, values });
  return rows[0].id;
}

/** Finds the session by its id, or by the transaction's id if there is none. */
export async function findSession(
  pool: Pool,
  sessionId: string | null,
  transactionId: string,
): Promise<Session | undefined> {
  const values = [sessionId, transactionId];
  return (await pool.query({ name: 'session', text: FIND_SESSION, values })).rows[0];
}

export function receiveCallback(app: FastifyInstance, pool: Pool, providerUrl: string): void {
  const verify = createVerify(providerUrl);
  app.post<{ Body: Fields; Querystring: { session_id?: string } }>(
    '/v1/webhooks/gateway_one',
    { schema },
    async ({ body, query: { session_id: sessionId = null } }) => {
      const callbackId = await journal(pool, sessionId, body);
      const isPaid = body.status === 'VALID' || body.status === 'VALIDATED';
      if (isPaid && body.val_id !== undefined) {
        const session = await findSession(pool, sessionId, body.tran_id);
        if (session?.transaction_id === body.tran_id) {
          const proof = await verify(session, body.val_id);
          if (proof !== undefined) await settle(pool, { session, callbackId, proof });
        }
      }
      return { message: 'received' };
    },
  );
}
