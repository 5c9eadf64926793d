// Counts callbacks of sessions that have reached their limit of journaled callbacks, and advances the sweep's
// verification.
//
// The session's next verification answers its counted callbacks too. It is advanced as far as the session's
// rate limit allows, so a genuine callback among thousands still settles the session. If the session is paid
// and a callback names an unknown payment, the sweep looks for duplicate payments.
import type { Pool } from 'pg';
import { formatId } from '../../ids.ts';
import { shareNextRun } from '../../share-next-run.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import { columns } from '../../storage/sql/transaction.ts';
import {
  isUnknownCheckout,
  isUnknownPayment,
  newestCheckouts,
  setOtherPayment,
} from '../duplicates/mark-for-check.ts';
import type { CallbackClaim } from '../providers/driver.ts';
import { mayBePaid } from '../providers/registry.ts';
import type { FindSession } from '../sessions/look-up-sessions.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import { countVerification, VERIFICATION_ALLOWED } from '../verification/rate-limit.ts';
import { resolveSession } from './find-session-of-callback.ts';
import type { ReceivedCallback } from './journaled-callbacks.ts';

type CountedCallback = {
  readonly sessionId: string;
  /** The state that the journal would give it. */
  readonly state: CountedState;
  readonly needsVerification: boolean;
  /** The payment that it names, if that one needs a check. */
  readonly names?: NamedPayment | undefined;
};

/**
 * `payment`: the id that proves a payment. `checkout`: the provider's id of a checkout other than the
 * session's.
 */
export type NamedPayment = {
  readonly gateway: string;
  readonly payment: string | undefined;
  readonly checkout: string | undefined;
};

export const COUNTED_STATES = ['ignored', 'mismatch'] as const;
export type CountedState = (typeof COUNTED_STATES)[number];

/**
 * Counts a callback that names `session`. Resolves once the count and the time of the session's next
 * verification are committed.
 */
export type CountCallback = (
  callback: ReceivedCallback & { readonly claimedSession: StoredSession | undefined },
  session: StoredSession,
) => Promise<void>;

/** `isResolved`: all ids of the callback are those of the session. */
function countedCallback(claim: CallbackClaim, session: StoredSession, isResolved: boolean): CountedCallback {
  const sessionId = session.id;
  if (!isResolved) return { sessionId, state: 'mismatch', needsVerification: false } as const;
  const names = mayBePaid(claim) ? otherPaymentOf(claim, session) : undefined;
  return { sessionId, state: 'ignored', needsVerification: claim.outcome !== 'ignored', names } as const;
}

/** The payment that a callback names, unless it is the session's own checkout. */
function otherPaymentOf(
  { validationId, providerPaymentId }: CallbackClaim,
  session: StoredSession,
): NamedPayment | undefined {
  const checkout = providerPaymentId === session.providerPaymentId ? undefined : providerPaymentId;
  if (!validationId && !checkout) return undefined;
  return { gateway: session.gateway, payment: validationId || undefined, checkout: checkout || undefined };
}

/** One batch at a time: in a flood, two would wait for the same session's row. */
const BATCHES = { maxSize: 512, maxInFlight: 1 };

export type CountOptions = Pick<PaymentDependencies, 'pool' | 'clock' | 'logger'> & {
  readonly findSession: FindSession;
};

export function createCountCallback({ pool, clock, logger, findSession }: CountOptions): CountCallback {
  const count = createBatcher<CountedCallback, boolean>({
    ...BATCHES,
    run: async (counted) => {
      const concerned = await countEach(pool, counted, clock());
      for (const { id, isAdvanced } of concerned) {
        // Logged at most as often as the sweep verifies the session.
        const message =
          'callbacks of a session are counted and no longer journaled: see HUB_SESSION_CALLBACKS';
        if (isAdvanced) logger.warn({ sessionId: formatId('chs', id) }, message);
      }
      const locked = new Set(concerned.flatMap(({ id, isLocked }) => (isLocked ? [id] : [])));
      return counted.map(({ sessionId, needsVerification }) => !(needsVerification && locked.has(sessionId)));
    },
  });
  // Outside of the batch: it waits for the lock on the session, once for all callbacks that wait for it.
  const advanceOnce = shareNextRun((sessionId: string) => advanceAlone(pool, sessionId, clock()));
  return async (callback, session) => {
    const { kind } = await resolveSession(findSession, callback, callback.claim);
    const counted = countedCallback(callback.claim, session, kind === 'session');
    if (!(await count(counted))) await advanceOnce(session.id);
  };
}

type Concerned = {
  readonly id: string;
  /** Whether another transaction has locked the session, so that it must be advanced alone. */
  readonly isLocked: boolean;
  /** Whether its next verification is earlier now. */
  readonly isAdvanced: boolean;
};

/**
 * Returns the sessions whose next verification could run earlier under the rate limit. Also returns the
 * sessions that are paid or being verified, if a callback names another payment: the settlement of a running
 * verification, not committed yet, cannot see these callbacks.
 */
async function countEach(
  pool: Pool,
  counted: readonly CountedCallback[],
  at: Date,
): Promise<readonly Concerned[]> {
  const sessions = [...Map.groupBy(counted, ({ sessionId }) => sessionId)];
  const named = namedBy(counted);
  const countOf = (callbacks: readonly CountedCallback[], wanted: CountedState) =>
    callbacks.filter(({ state }) => state === wanted).length;
  const { rows } = await pool.query<Concerned>({
    name: 'count_callbacks',
    text: COUNT,
    values: [
      sessions.map(([sessionId]) => sessionId),
      sessions.map(([, callbacks]) => countOf(callbacks, 'ignored')),
      sessions.map(([, callbacks]) => countOf(callbacks, 'mismatch')),
      sessions.map(([, callbacks]) => callbacks.some(({ needsVerification }) => needsVerification)),
      at,
      ...columns(named, 'sessionId', 'gateway', 'payment', 'checkout'),
    ],
  });
  return rows;
}

/** Each payment once, ordered by the last callback that names it. */
function namedBy(counted: readonly CountedCallback[]): (NamedPayment & { readonly sessionId: string })[] {
  const named = new Map<string, NamedPayment & { readonly sessionId: string }>();
  for (const { sessionId, names } of counted) {
    if (names === undefined) continue;
    const key = JSON.stringify([sessionId, names.payment, names.checkout]);
    named.delete(key);
    named.set(key, { sessionId, ...names });
  }
  return [...named.values()];
}

// callback_count_pkey, charge_session_pkey; locks both in the order of the ids, so that batches cannot
// deadlock.
const COUNT = `with t as materialized (
  select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::boolean[])
    as t (session_id, ignored, mismatch, needs_verification)
), named as materialized (
  select n.session_id, n.position,
         case when ${isUnknownCheckout('n.session_id', 'n.checkout')} then n.checkout end as checkout,
         ${isUnknownPayment('n.gateway', 'n.payment')} as is_other_payment
  from unnest($6::uuid[], $7::text[], $8::text[], $9::text[]) with ordinality
    as n (session_id, gateway, payment, checkout, position)
), others as materialized (
  select session_id, array_agg(checkout order by position) filter (where checkout is not null) as checkouts
  from named where is_other_payment or checkout is not null group by session_id
), counted as (
  insert into callback_count as k (session_id, kept, ignored, mismatch, asked_for_at, other_checkouts)
  select session_id, 0, ignored, mismatch, case when needs_verification then $5::timestamptz end,
         ${newestCheckouts('o.checkouts')}
  from t left join others o using (session_id) order by session_id
  on conflict (session_id) do update
  set ignored = k.ignored + excluded.ignored, mismatch = k.mismatch + excluded.mismatch,
      asked_for_at = coalesce(excluded.asked_for_at, k.asked_for_at),
      other_checkouts = case when excluded.other_checkouts = '{}' then k.other_checkouts
        else ${newestCheckouts('k.other_checkouts || excluded.other_checkouts')} end
), concerned as materialized (
  select c.id from charge_session c join t on t.session_id = c.id
  where t.needs_verification and c.id = any($1)
    and (${canRunEarlier('$5')}
      or ((c.status = 'success' or c.verifying_by is not null) and c.id in (select session_id from others)))
), free as materialized (
  select c.id, c.status, ${canRunEarlier('$5')} as can_run_earlier from charge_session c
  where c.id = any(array(select id from concerned))
  order by c.id for no key update skip locked
), advanced as (
  update charge_session c set ${advanceVerification('$5')} from free
  where c.id = free.id and free.can_run_earlier returning c.id
), marked as (
  update charge_session c set ${setOtherPayment('$5')} from free
  where c.id = free.id and free.status = 'success' returning c.id
)
select id, id not in (select id from free) as "isLocked", id in (select id from advanced) as "isAdvanced"
from concerned`;

async function advanceAlone(pool: Pool, sessionId: string, at: Date): Promise<void> {
  await pool.query({ name: 'advance_verification', text: ADVANCE, values: [sessionId, at] });
}

// charge_session_pkey. The transaction that had locked the session may have paid it.
const ADVANCE = `with locked as materialized (
  select c.id, c.status, ${canRunEarlier('$2')} as can_run_earlier from charge_session c
  where c.id = $1 for no key update
), marked as (
  update charge_session c set ${setOtherPayment('$2')} from locked
  where c.id = locked.id and locked.status = 'success'
)
update charge_session c set ${advanceVerification('$2')} from locked
where c.id = locked.id and locked.can_run_earlier`;

/** When the rate limit allows the next verification of the `charge_session c`, by the hub's clock. */
function nextAllowedAt(at: `$${number}`): string {
  return `${at}::timestamptz + greatest(c.verification_allowed_at - now(), interval '0')`;
}

/**
 * Whether the `charge_session c` is unpaid, and its next verification could run earlier under the rate limit,
 * or is not planned.
 */
function canRunEarlier(at: `$${number}`): string {
  return `c.status <> 'success' and (c.next_check_at is null or c.next_check_at > ${nextAllowedAt(at)})`;
}

/**
 * A verification that is allowed now counts against the rate limit, so the next counted callback waits for
 * the next allowed one.
 */
function advanceVerification(at: `$${number}`): string {
  return `next_check_at = ${nextAllowedAt(at)}, ${countVerification(VERIFICATION_ALLOWED)}`;
}
