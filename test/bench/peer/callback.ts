// POST /v1/webhooks/gateway_one of the peer: stores a row per callback, and verifies and settles payments.
import type { FastifyInstance } from 'fastify';
import type { ClientBase, Pool } from 'pg';
import { settle } from './settle.ts';
import { inTransaction } from './transaction.ts';
import { createVerify, type Session } from './verify.ts';

type Fields = { status: string; tran_id: string; val_id?: string };

const schema = {
  body: {
    type: 'object',
    required: ['status', 'tran_id'],
    properties: { status: { type: 'string' }, tran_id: { type: 'string' }, val_id: { type: 'string' } },
  },
};

/** Callbacks of one session that are stored, as by default in the hub. */
const MAX_CALLBACKS = 100;

const INSERT_CALLBACK = `
  insert into callback (session_id, fields, received_at, state) values ($1, $2, now(), $3) returning id`;
const COUNT_CALLBACK = `
  insert into callback_count as c (session_id, kept) values ($1, 1)
  on conflict (session_id) do update set kept = c.kept + 1 where c.kept < ${MAX_CALLBACKS} returning kept`;
const SELECT_SESSION = `
  select id, transaction_id, status, amount_minor, currency, offer, customer from charge_session`;

/** Inserts one row, and resolves with its id. */
export async function insertCallback(
  db: Pool | ClientBase,
  sessionId: string | null,
  fields: object,
  state = 'received',
): Promise<string> {
  const values = [sessionId, fields, state];
  const { rows } = await db.query({ name: 'callback', text: INSERT_CALLBACK, values });
  return rows[0].id;
}

/** Finds the session by its id, or by the transaction's id if `sessionId` is null. */
export async function findSession(
  db: Pool | ClientBase,
  sessionId: string | null,
  transactionId: string,
): Promise<Session | undefined> {
  const isById = sessionId !== null;
  const statement = {
    name: isById ? 'session_by_id' : 'session_by_transaction',
    text: `${SELECT_SESSION} where ${isById ? 'id' : 'transaction_id'} = $1`,
    values: [sessionId ?? transactionId],
  };
  return (await db.query(statement)).rows[0];
}

type Journaled = {
  /** Undefined if the callback was not stored. */
  readonly callbackId: string | undefined;
  readonly session: Session | undefined;
};

/**
 * Stores a callback with its session, unless the session has `MAX_CALLBACKS`. A callback whose status has no effect is
 * stored in its final state.
 */
function journal(pool: Pool, sessionId: string | null, fields: Fields): Promise<Journaled> {
  return inTransaction(pool, async (client) => {
    const session = await findSession(client, sessionId, fields.tran_id);
    if (session !== undefined) {
      const counted = await client.query({ name: 'count', text: COUNT_CALLBACK, values: [session.id] });
      if (counted.rowCount === 0) return { callbackId: undefined, session };
    }
    const isFinal = session?.transaction_id === fields.tran_id && !isPaid(fields);
    const state = isFinal ? 'ignored' : 'received';
    return { callbackId: await insertCallback(client, session?.id ?? null, fields, state), session };
  });
}

async function journalOnly(pool: Pool, sessionId: string | null, fields: Fields): Promise<Journaled> {
  const callbackId = await insertCallback(pool, sessionId, fields);
  const session = isPaid(fields) ? await findSession(pool, sessionId, fields.tran_id) : undefined;
  return { callbackId, session };
}

function isPaid({ status, val_id }: Fields): boolean {
  return (status === 'VALID' || status === 'VALIDATED') && val_id !== undefined;
}

export type CallbackOptions = {
  readonly providerUrl: string;
  /** The bare peer stores each callback with the session id that it names, and records no call to the provider. */
  readonly isBare: boolean;
};

export function receiveCallback(
  app: FastifyInstance,
  pool: Pool,
  { providerUrl, isBare }: CallbackOptions,
): void {
  const verify = createVerify(providerUrl);
  app.post<{ Body: Fields; Querystring: { session_id?: string } }>(
    '/v1/webhooks/gateway_one',
    { schema },
    async ({ body, query: { session_id: sessionId = null } }) => {
      const { callbackId, session } = await (isBare ? journalOnly : journal)(pool, sessionId, body);
      const isOfSession = session?.transaction_id === body.tran_id;
      if (callbackId !== undefined && isOfSession && isPaid(body)) {
        const { proof, call } = await verify(session, body.val_id ?? '');
        if (proof !== undefined) {
          await settle(pool, { session, callbackId, proof, ...(!isBare && { call }) });
        }
      }
      return { message: 'received' };
    },
  );
}
