// Counts callbacks of sessions that keep as many as they may, and has the provider asked about them soon.
//
// A counted callback is answered by the same question as all others of its session: the sweep's, whose time is brought
// forward as far as the session's budget of questions allows. So an honest one among thousands still settles it. Of a paid
// session, one that names a payment that the hub does not know makes the sweep look for duplicate payments.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import { createBatcher } from '../storage/batcher.ts';
import { isUnknownCheckout, newestCheckouts } from './other-checkouts.ts';
import { isUnknownPayment, setOtherPayment } from './other-payments.ts';
import { MAY_ASK, NEXT_QUESTION_AFTER } from './question-budget.ts';

export type CountedCallback = {
  readonly sessionId: string;
  /** What the journal would say of it. */
  readonly state: CountedState;
  /** Whether the provider is to be asked because of it. */
  readonly asks: boolean;
  /** The payment that it names, if the provider is to be asked about that one. */
  readonly names?: NamedPayment | undefined;
};

/** By the id that proves a payment, or by a payment id other than the session's. */
export type NamedPayment = {
  readonly gateway: string;
  readonly payment: string | undefined;
  readonly checkout: string | undefined;
};

export const COUNTED_STATES = ['ignored', 'mismatch'] as const;
export type CountedState = (typeof COUNTED_STATES)[number];

/** Resolves once the callback is counted and the time of the question about its session is committed. */
export type CountCallback = (callback: CountedCallback) => Promise<void>;

/** One batch at a time: two would only wait for the row of the session that most of both are about. */
const BATCHES = { maxSize: 512, maxInFlight: 1 };

export type CountOptions = { readonly pool: Pool; readonly clock: Clock; readonly logger: Logger };

export function createCountCallback({ pool, clock, logger }: CountOptions): CountCallback {
  const count = createBatcher<CountedCallback, boolean>({
    ...BATCHES,
    run: async (counted) => {
      const late = await countEach(pool, counted, clock());
      for (const { id, brought, paid } of late) {
        // At most as often as the sweep asks about the session because of it.
        const about = { sessionId: formatId('chs', id) };
        if (brought && !paid)
          logger.warn(about, 'callbacks of a session are only counted: it keeps as many as it may');
      }
      const held = new Set(late.filter(({ brought }) => !brought).map(({ id }) => id));
      return counted.map(({ sessionId, asks }) => !(asks && held.has(sessionId)));
    },
  });
  const underWay = new Map<string, Promise<void>>();
  /** Waits for whoever holds the row of the session, apart from the batch and once for all that wait for it. */
  const bringForward = (sessionId: string): Promise<void> => {
    const running =
      underWay.get(sessionId) ??
      bringForwardAlone(pool, sessionId, clock()).finally(() => underWay.delete(sessionId));
    underWay.set(sessionId, running);
    return running;
  };
  return async (callback) => {
    if (!(await count(callback))) await bringForward(callback.sessionId);
  };
}

type Late = { readonly id: string; readonly brought: boolean; readonly paid: boolean };

/** The sessions to be asked about sooner, and whether they are: those that somebody holds are not. */
async function countEach(
  pool: Pool,
  counted: readonly CountedCallback[],
  at: Date,
): Promise<readonly Late[]> {
  const sessions = [...Map.groupBy(counted, ({ sessionId }) => sessionId)];
  const named = namedBy(counted);
  const countOf = (callbacks: readonly CountedCallback[], wanted: CountedState) =>
    callbacks.filter(({ state }) => state === wanted).length;
  const { rows } = await pool.query<Late>({
    name: 'count_callbacks',
    // callback_count_pkey, charge_session_pkey; both in the order of the ids. Sessions that somebody holds are left out.
    // The payments that are named come in the order in which their callbacks came.
    text: `with t as materialized (
             select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::boolean[]) as t (session_id, ignored, mismatch, asks)
           ), named as materialized (
             select n.session_id, n.place,
                    case when ${isUnknownCheckout('n.session_id', 'n.checkout')} then n.checkout end as checkout,
                    ${isUnknownPayment('n.gateway', 'n.payment')} as is_other_payment
             from unnest($6::uuid[], $7::text[], $8::text[], $9::text[]) with ordinality
               as n (session_id, gateway, payment, checkout, place)
           ), others as materialized (
             select session_id, array_agg(checkout order by place) filter (where checkout is not null) as checkouts
             from named where is_other_payment or checkout is not null group by session_id
           ), counted as (
             insert into callback_count as k (session_id, kept, ignored, mismatch, asked_for_at, other_checkouts)
             select session_id, 0, ignored, mismatch, case when asks then $5::timestamptz end,
                    ${newestCheckouts('o.checkouts')}
             from t left join others o using (session_id) order by session_id
             on conflict (session_id) do update
             set ignored = k.ignored + excluded.ignored, mismatch = k.mismatch + excluded.mismatch,
                 asked_for_at = coalesce(excluded.asked_for_at, k.asked_for_at),
                 other_checkouts = case when excluded.other_checkouts = '{}' then k.other_checkouts
                   else ${newestCheckouts('k.other_checkouts || excluded.other_checkouts')} end
           ), late as materialized (
             select c.id from charge_session c join t on t.session_id = c.id
             where t.asks and c.id = any($1)
               and (${isLate('$5')} or (c.status = 'success' and c.id in (select session_id from others)))
           ), free as materialized (
             select c.id, c.status from charge_session c
             where c.id = any(array(select id from late)) and (${isLate('$5')} or c.status = 'success')
             order by c.id for no key update skip locked
           ), brought as (
             update charge_session c set ${broughtForward('$5')} from free where c.id = free.id and free.status <> 'success'
             returning c.id
           ), marked as (
             update charge_session c set ${setOtherPayment('$5')} from free where c.id = free.id and free.status = 'success'
             returning c.id
           )
           select id, id in (select id from brought union all select id from marked) as brought,
                  id in (select id from marked) as paid
           from late`,
    values: [
      sessions.map(([sessionId]) => sessionId),
      sessions.map(([, callbacks]) => countOf(callbacks, 'ignored')),
      sessions.map(([, callbacks]) => countOf(callbacks, 'mismatch')),
      sessions.map(([, callbacks]) => callbacks.some(({ asks }) => asks)),
      at,
      named.map(({ sessionId }) => sessionId),
      named.map(({ gateway }) => gateway),
      named.map(({ payment }) => payment ?? null),
      named.map(({ checkout }) => checkout ?? null),
    ],
  });
  return rows;
}

/** Each payment once, in the order in which it was named last. */
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

async function bringForwardAlone(pool: Pool, sessionId: string, at: Date): Promise<void> {
  await pool.query({
    name: 'bring_forward',
    // charge_session_pkey
    text: `update charge_session c set ${broughtForward('$2')} where c.id = $1 and ${isLate('$2')}`,
    values: [sessionId, at],
  });
  await pool.query({
    name: 'mark_counted',
    // charge_session_pkey. It is paid, perhaps by whoever held it: one of the callbacks may name another payment.
    text: `update charge_session c set ${setOtherPayment('$2')} where c.id = $1 and c.status = 'success'`,
    values: [sessionId, at],
  });
}

/** When the next question about the `charge_session c` is allowed, by the clock of the hubs. */
function nextQuestionAt(at: `$${number}`): string {
  return `${at}::timestamptz + greatest(c.question_after - now(), interval '0')`;
}

/** Whether the sweep asks later than that, or not at all, about a session that may still be paid. */
function isLate(at: `$${number}`): string {
  return `c.status <> 'success' and (c.next_check_at is null or c.next_check_at > ${nextQuestionAt(at)})`;
}

/** A question that is allowed now is one of the session's budget, so that the next counted callback waits for the one after. */
function broughtForward(at: `$${number}`): string {
  return `next_check_at = ${nextQuestionAt(at)},
          callback_questions = c.callback_questions + ${MAY_ASK}::int,
          question_after = case when ${MAY_ASK} then ${NEXT_QUESTION_AFTER} else c.question_after end`;
}
