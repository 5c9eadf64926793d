// Commits callbacks to the journal, and in the same commit takes the leases of the sessions the provider is to be asked about.
import type { Pool } from 'pg';
import { newUuid } from '../ids.ts';
import type { CallbackClaim } from './provider.ts';
import { NEXT_QUESTION_AFTER } from './question-budget.ts';
import { claimedSession, type ReceivedCallback } from './received-callback.ts';
import { AGREES } from './resolve.ts';
import { readSessionsBy, SESSION_COLUMNS, type SessionFacts } from './session-facts.ts';
import {
  CALLBACK_MAY_LEASE,
  leaseTo,
  type TakenLease,
  type VerificationLease,
} from './verification-lease.ts';

export type Appending = {
  readonly id: string;
  readonly callback: ReceivedCallback;
  /** What it claims, if the provider is to be asked because of it. */
  readonly toAsk: CallbackClaim | undefined;
};

/** The session that a callback names by id, as it was, and its lease if it could be had without waiting for anybody. */
export type Appended = {
  readonly session: SessionFacts | undefined;
  readonly lease: TakenLease | undefined;
};

export type AppendOptions = {
  readonly at: Date;
  readonly leaseMs: number;
  readonly endLeases: VerificationLease['end'];
};

export async function appendCallbacks(
  pool: Pool,
  each: readonly Appending[],
  { at, leaseMs, endLeases }: AppendOptions,
): Promise<Appended[]> {
  const begun = performance.now();
  const holders = each.map(({ toAsk }) => (toAsk === undefined ? null : newUuid()));
  const sessionIds = each.map(({ callback }) => claimedSession(callback) ?? null);
  const appending = [
    each.map(({ id }) => id),
    each.map(({ callback }) => callback.gateway),
    each.map(({ callback }) => callback.claimedSessionId ?? null),
    each.map(({ callback }) => JSON.stringify(callback.fields)),
    sessionIds,
    at,
  ];
  const leasing = [
    holders,
    each.map(({ toAsk }) => toAsk?.merchantTransactionId || null),
    each.map(({ toAsk }) => toAsk?.providerPaymentId || null),
    leaseMs,
  ];
  const found = await readSessionsBy(
    pool,
    holders.every((holder) => holder === null)
      ? { name: 'append_callbacks', text: `with ${APPEND} ${NAMED}`, values: appending }
      : {
          name: 'append_and_lease',
          text: `with ${APPEND}, ${LEASE} ${NAMED} union all select * from leased`,
          values: [...appending, ...leasing],
        },
  ).catch((error) => {
    // Only the answer may have been lost: who calls again shall not wait until these leases run out.
    void endLeases(
      holders.flatMap((holder, index) => {
        const sessionId = sessionIds[index];
        return holder && sessionId ? { sessionId, holder } : [];
      }),
    );
    throw error;
  });
  return holders.map((holder, index) => {
    const leased = holder === null ? undefined : found.get(holder);
    return {
      session: leased ?? found.get(String(index + 1)),
      lease: leased && holder ? { holder, session: leased, begun } : undefined,
    };
  });
}

const APPEND = `appended as (
  insert into callback (id, gateway, claimed_session_id, fields, received_at, state, reason, attempts)
  select id, gateway, claimed_session_id, fields, $6, 'received', '', 0
  from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[]) as t (id, gateway, claimed_session_id, fields)
)`;

/** Rows that somebody holds are left out (charge_session_pkey). Of several callbacks of a session one gets the lease. */
const LEASE = `free as materialized (
  select c.id from charge_session c where c.id = any($5) and ${CALLBACK_MAY_LEASE}
  order by c.id for no key update skip locked
), leased as (
  update charge_session c
  set ${leaseTo('$10')}, callback_questions = c.callback_questions + 1, question_after = ${NEXT_QUESTION_AFTER}
  from free f, slot s, unnest($2::text[], $5::uuid[], $7::uuid[], $8::text[], $9::text[])
    as t (gateway, session_id, holder, transaction_id, payment_id)
  where c.id = f.id and s.id = c.slot_id and t.session_id = f.id and t.holder is not null and ${AGREES}
  returning t.holder::text as key, ${SESSION_COLUMNS}
)`;

/** By their places among the callbacks (charge_session_pkey). */
const NAMED = `select t.position::text as key, ${SESSION_COLUMNS}
  from unnest($5::uuid[]) with ordinality as t (id, position)
  join charge_session c on c.id = t.id join slot s on s.id = c.slot_id`;
