// Statements of a settlement that write a payment's risk and hold the session for review.
import type { PoolClient } from 'pg';
import type { Risk } from './provider.ts';

/** The rating of the payment that settles the session. */
export async function noteRisk(client: PoolClient, sessionId: string, risk: Risk | undefined): Promise<void> {
  await client.query({
    name: 'note_risk',
    // charge_session_pkey
    text: 'update charge_session set risk_level = $2, risk_title = $3 where id = $1',
    values: [sessionId, risk?.level ?? null, risk?.title ?? null],
  });
}

/** Holds the session for review. The sweep goes on, also if it had given the session up: the rating may change. */
export async function holdSession(
  client: PoolClient,
  sessionId: string,
  risk: Risk | undefined,
  at: Date,
): Promise<void> {
  await client.query({
    name: 'hold_session',
    // charge_session_pkey
    text: `update charge_session
           set risk_level = $2, risk_title = $3, held_at = coalesce(held_at, $4),
               next_check_at = coalesce(next_check_at, $4)
           where id = $1`,
    values: [sessionId, risk?.level ?? null, risk?.title ?? null, at],
  });
}
