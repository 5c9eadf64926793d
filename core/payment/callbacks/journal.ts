// The callback journal: commits what providers send before the hub processes it, in one statement together
// with the verification leases of the sessions.
import { newUuid, parseId } from '../../ids.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import { columns } from '../../storage/sql/transaction.ts';
import { reasonIgnored } from '../providers/registry.ts';
import { readSessionsBy, SESSION_COLUMNS, type StoredSession } from '../sessions/read-sessions.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { TakenVerificationLease, VerificationLeases } from '../verification/lease.ts';
import { countVerification } from '../verification/rate-limit.ts';
import { setVerificationLease, VERIFICATION_LEASE_ALLOWED } from '../verification/take-and-end-lease.ts';
import type { CountCallback } from './count-unjournaled.ts';
import type { JournaledCallback, ReceivedCallback } from './journaled-callbacks.ts';

export type JournalOptions = Pick<PaymentDependencies, 'pool' | 'clock'> & {
  readonly leaseMs: number;
  readonly leases: Pick<VerificationLeases, 'end'>;
  /** The number of callbacks that the journal stores for one session (HUB_SESSION_CALLBACKS). */
  readonly limit: number;
  readonly count: CountCallback;
};

/**
 * Only `received` callbacks are left to process. `ignored`: journaled in its final state. `counted`: not
 * journaled. `session`: the session of the callback; undefined unless the gateway and all ids of the callback
 * are those of this session.
 */
export type JournalResult = { readonly session: StoredSession | undefined } & (
  | { readonly kind: 'received'; readonly callback: JournaledCallback }
  | { readonly kind: 'ignored' }
  | { readonly kind: 'counted' }
);

export type Journal = ReturnType<typeof createJournal>;

export function createJournal(options: JournalOptions) {
  const { count } = options;
  const append = createBatcher<Entry, Appended>({
    run: (entries) => appendCallbacks(options, entries),
    // A batch mostly waits for the disk: two, each followed after 10 ms, had 0.92 of the throughput.
    maxInFlight: 4,
    startNextAfterMs: 3,
  });
  return {
    /**
     * Commits the callback, or counts it if its session has reached the limit of journaled callbacks. With
     * `takeLease` the same commit takes the verification lease of the session if it is free. If the caller
     * does not process a received callback, enqueue-strays.ts finds it.
     */
    async append(callback: ReceivedCallback, takeLease: boolean): Promise<JournalResult> {
      const id = newUuid();
      const { result, session, lease } = await append({ id, callback, takeLease });
      const agreed = session !== undefined && agrees(session, callback) ? session : undefined;
      if (result === 'ignored') return { kind: 'ignored', session: agreed };
      // A session found by another id is resolved again, so that the reason names that id.
      const isClaimed = session !== undefined && session.id === claimedSessionId(callback);
      const received = { ...callback, claimedSession: isClaimed ? session : undefined };
      if (result === 'full' && session !== undefined) {
        // A statement of its own: counting locks the flooded session's count, and no journal commit may wait
        // for it.
        await count(received, session);
        return { kind: 'counted', session: agreed };
      }
      return {
        kind: 'received',
        session: agreed,
        callback: { ...received, id, state: 'received', triedSince: undefined, waits: false, lease },
      };
    },
  };
}

/** The session id in `session_id`; undefined if the parameter is missing or is not a session id. */
function claimedSessionId(callback: ReceivedCallback): string | undefined {
  return callback.claimedSessionId === undefined ? undefined : parseId('chs', callback.claimedSessionId);
}

/** Whether the gateway and all ids of a callback are those of the session. */
export function agrees(
  { gateway, merchantTransactionId, providerPaymentId }: StoredSession,
  { gateway: calledGateway, claim }: Pick<ReceivedCallback, 'gateway' | 'claim'>,
): boolean {
  return (
    gateway === calledGateway &&
    (!claim.merchantTransactionId || claim.merchantTransactionId === merchantTransactionId) &&
    (!claim.providerPaymentId || claim.providerPaymentId === providerPaymentId)
  );
}

type Entry = {
  readonly id: string;
  readonly callback: ReceivedCallback;
  /** Whether to take the verification lease of the session. */
  readonly takeLease: boolean;
};

type Appended = {
  /**
   * `received`: journaled, to be processed. `ignored`: journaled in its final state, because the hub ignores
   * the status. `full`: not written, because the session has its `limit` of journaled callbacks.
   */
  readonly result: 'received' | 'ignored' | 'full';
  /** The session that the callback names, as of the statement. */
  readonly session: StoredSession | undefined;
  /** The verification lease that the statement took for this callback, if it took one. */
  readonly lease: TakenVerificationLease | undefined;
};

async function appendCallbacks(
  { pool, clock, leaseMs, leases, limit }: JournalOptions,
  entries: readonly Entry[],
): Promise<Appended[]> {
  const at = clock();
  const requestedAt = performance.now();
  const rows = entries.map(({ id, callback, takeLease }) => {
    const { gateway, fields, claim } = callback;
    const sessionId = claimedSessionId(callback) ?? null;
    return {
      id,
      gateway,
      claimedSessionId: callback.claimedSessionId ?? null,
      fields: JSON.stringify(fields),
      sessionId,
      transactionId: claim.merchantTransactionId || null,
      paymentId: claim.providerPaymentId || null,
      holder: takeLease && sessionId !== null ? newUuid() : null,
      ignoredReason: claim.outcome === 'ignored' ? reasonIgnored(claim) : null,
    };
  });
  const leasing = rows.flatMap(({ sessionId, holder }) =>
    sessionId !== null && holder !== null ? [{ sessionId, holder }] : [],
  );
  const values = [
    ...columns(rows, 'id', 'gateway', 'claimedSessionId', 'fields', 'sessionId'),
    ...columns(rows, 'transactionId', 'paymentId', 'holder', 'ignoredReason'),
    at,
    limit,
  ];
  const sessions = await readSessionsBy(
    pool,
    leasing.length === 0
      ? { name: 'append_callbacks', text: `${APPEND} ${JOURNALED}`, values }
      : {
          name: 'append_and_lease_callbacks',
          text: `${APPEND}, ${LEASE} ${JOURNALED} union all select * from leased`,
          values: [...values, leasing.map(({ sessionId }) => sessionId), leaseMs],
        },
  ).catch((error) => {
    // The statement may have committed: a repeated callback must not wait until these leases expire.
    void leases.end(leasing);
    throw error;
  });
  return rows.map(({ holder }, index): Appended => {
    const sessionOf = (key: string) => sessions.get(`${key} ${index + 1}`);
    const leased = sessionOf('leased');
    if (leased !== undefined && holder !== null) {
      return { result: 'received', session: leased, lease: { holder, session: leased, requestedAt } };
    }
    const result = (['ignored', 'full'] as const).find(sessionOf) ?? 'received';
    return { result, session: sessionOf(result), lease: undefined };
  });
}

/**
 * Finds the session as `resolveSession` does, so that an invented session id does not evade the limit.
 * `agrees` is whether all ids of the callback are those of the session.
 *
 * The limit: `callback_count.kept` is the number of callbacks of the session that this statement or earlier
 * ones counted. It can exceed the limit by those of the last batch, which are not journaled. `nth_last` is 1
 * for the last callback of a session in this statement, so `kept - nth_last` callbacks come before it. The
 * row of a session at its limit is not written: it is the most contended one of a flood.
 *
 * Lock order: counts and sessions by id, so that concurrent batches cannot deadlock. Sessions that another
 * transaction has locked are skipped, and so get no lease. Of several callbacks of a session one gets the
 * lease.
 *
 * Indexes: charge_session_pkey, charge_session_merchant_transaction_id_key,
 * charge_session_provider_payment_id_key, callback_count_pkey.
 */
const APPEND = `
with entry as materialized (
  select t.*, c.id as session_id, row_number() over (partition by c.id order by t.id desc) as nth_last,
         c.gateway = t.gateway
           and (t.transaction_id is null or t.transaction_id = c.merchant_transaction_id)
           and (t.payment_id is null or t.payment_id = c.provider_payment_id) as agrees
  from unnest($1::uuid[], $2::text[], $3::text[], $4::jsonb[], $5::uuid[], $6::text[], $7::text[], $8::uuid[],
              $9::text[]) with ordinality
    as t (id, gateway, claimed_session_id, fields, named_id, transaction_id, payment_id, holder,
      ignored_reason,
          position)
  left join lateral (
    (select c.id, c.merchant_transaction_id, c.provider_payment_id, s.gateway
     from charge_session c join slot s on s.id = c.slot_id where c.id = t.named_id)
    union all
    (select c.id, c.merchant_transaction_id, c.provider_payment_id, s.gateway
     from charge_session c join slot s on s.id = c.slot_id
     where c.merchant_transaction_id = t.transaction_id and s.gateway = t.gateway)
    union all
    (select c.id, c.merchant_transaction_id, c.provider_payment_id, s.gateway
     from charge_session c join slot s on s.id = c.slot_id
     where c.provider_payment_id = t.payment_id and s.gateway = t.gateway limit 1)
    limit 1
  ) c on true
), counted as (
  insert into callback_count as k (session_id, kept, ignored, mismatch)
  select e.session_id, count(*)::int, 0, 0 from entry e
  where e.session_id is not null
    -- A scalar subquery. For NOT EXISTS, PostgreSQL may choose a join that reads all counts.
    and not coalesce((select f.kept >= $11 from callback_count f where f.session_id = e.session_id), false)
  group by e.session_id order by e.session_id
  on conflict (session_id) do update set kept = k.kept + excluded.kept
  returning session_id, kept
), journaled as (
  insert into callback (id, gateway, claimed_session_id, fields, received_at,
                        state, reason, attempts, session_id, finished_at)
  select e.id, e.gateway, e.claimed_session_id, e.fields, $10::timestamptz,
         case when f.is_final then 'ignored' else 'received' end,
         case when f.is_final then e.ignored_reason else '' end,
         case when f.is_final then 1 else 0 end,
         case when f.is_final then e.session_id end,
         case when f.is_final then $10::timestamptz end
  from entry e
  left join counted n on n.session_id = e.session_id
  cross join lateral (
    select e.ignored_reason is not null and e.session_id = e.named_id and e.agrees as is_final
  ) f
  where e.session_id is null or n.kept - e.nth_last < $11
  returning id, state
)`;

/** Left out if no callback may take a lease: it adds half to the statement's cost, even without a row. */
const LEASE = `free as materialized (
  select c.id from charge_session c where c.id = any($12) and ${VERIFICATION_LEASE_ALLOWED}
  order by c.id for no key update skip locked
), leased as (
  update charge_session c
  set ${setVerificationLease('$13')}, ${countVerification()}
  from free f, slot s, journaled j, entry t
  where c.id = f.id and s.id = c.slot_id and j.id = t.id
    and t.named_id = f.id and t.holder is not null and t.agrees
  returning 'leased ' || t.position as key, ${SESSION_COLUMNS}
)`;

/** Each row's key is its result and its position. */
const JOURNALED = `
select coalesce(j.state, 'full') || ' ' || e.position as key, ${SESSION_COLUMNS}
from entry e join charge_session c on c.id = e.session_id join slot s on s.id = c.slot_id
left join journaled j on j.id = e.id`;
