// Commits callbacks to the journal, and in the same commit takes the leases of the sessions the provider is to be asked about.
import type { Pool } from 'pg';
import { newUuid } from '../ids.ts';
import { hasPlace, NTH_LAST, takePlaces } from './callback-limit.ts';
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
  readonly claim: CallbackClaim;
  /** Whether the provider is to be asked because of it. */
  readonly asks: boolean;
};

/**
 * The session that a callback names, by its id or else by those that hub and provider gave it, as it was, and its lease if
 * it could be had without waiting for anybody.
 */
export type Appended = {
  /** False if the session keeps as many callbacks as it may: then nothing is written. */
  readonly kept: boolean;
  readonly session: SessionFacts | undefined;
  readonly lease: TakenLease | undefined;
};

export type AppendOptions = {
  readonly at: Date;
  readonly leaseMs: number;
  /** Callbacks that a session keeps. */
  readonly limit: number;
  readonly endLeases: VerificationLease['end'];
};

export async function appendCallbacks(
  pool: Pool,
  each: readonly Appending[],
  { at, leaseMs, limit, endLeases }: AppendOptions,
): Promise<Appended[]> {
  const begun = performance.now();
  const holders = each.map(({ asks }) => (asks ? newUuid() : null));
  const sessionIds = each.map(({ callback }) => claimedSession(callback) ?? null);
  const appending = [
    each.map(({ id }) => id),
    each.map(({ callback }) => callback.gateway),
    each.map(({ callback }) => callback.claimedSessionId ?? null),
    each.map(({ callback }) => JSON.stringify(callback.fields)),
    sessionIds,
    each.map(({ claim }) => claim.merchantTransactionId || null),
    each.map(({ claim }) => claim.providerPaymentId || null),
    at,
    limit,
  ];
  const leasing = [holders, leaseMs];
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
    const beyond = found.get(`beyond ${index + 1}`);
    return {
      kept: beyond === undefined,
      session: leased ?? beyond ?? found.get(String(index + 1)),
      lease: leased && holder ? { holder, session: leased, begun } : undefined,
    };
  });
}

/**
 * The session is looked for as resolve.ts does, so that no callback is kept beyond the limit by an id that names no session
 * (charge_session_pkey, charge_session_merchant_transaction_id_key, charge_session_provider_payment_id_key).
 */
const APPEND = `wanted as materialized (
  select t.id, t.gateway, t.claimed_session_id, t.fields, t.position, c.id as session_id, ${NTH_LAST}
  from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[], $5::uuid[], $6::text[], $7::text[]) with ordinality
    as t (id, gateway, claimed_session_id, fields, named, transaction_id, payment_id, position)
  left join lateral (
    (select id from charge_session where id = t.named)
    union all
    (select c.id from charge_session c join slot s on s.id = c.slot_id
     where c.merchant_transaction_id = t.transaction_id and s.gateway = t.gateway)
    union all
    (select c.id from charge_session c join slot s on s.id = c.slot_id
     where c.provider_payment_id = t.payment_id and s.gateway = t.gateway limit 1)
    limit 1
  ) c on true
), ${takePlaces('$9')}, appended as (
  insert into callback (id, gateway, claimed_session_id, fields, received_at, state, reason, attempts)
  select w.id, w.gateway, w.claimed_session_id, w.fields, $8, 'received', '', 0
  from wanted w left join places p on p.session_id = w.session_id where ${hasPlace('$9')}
  returning id
)`;

/** Rows that somebody holds are left out (charge_session_pkey). Of several callbacks of a session one gets the lease. */
const LEASE = `free as materialized (
  select c.id from charge_session c where c.id = any($5) and ${CALLBACK_MAY_LEASE}
  order by c.id for no key update skip locked
), leased as (
  update charge_session c
  set ${leaseTo('$11')}, callback_questions = c.callback_questions + 1, question_after = ${NEXT_QUESTION_AFTER}
  from free f, slot s, appended a, unnest($1::uuid[], $2::text[], $5::uuid[], $10::uuid[], $6::text[], $7::text[])
    as t (id, gateway, session_id, holder, transaction_id, payment_id)
  where c.id = f.id and s.id = c.slot_id and t.session_id = f.id and t.holder is not null and a.id = t.id and ${AGREES}
  returning t.holder::text as key, ${SESSION_COLUMNS}
)`;

/** By their places among the callbacks, those of callbacks that are not kept under a key of their own (charge_session_pkey). */
const NAMED = `select case when a.id is null then 'beyond ' else '' end || w.position as key, ${SESSION_COLUMNS}
  from wanted w join charge_session c on c.id = w.session_id join slot s on s.id = c.slot_id
  left join appended a on a.id = w.id`;
