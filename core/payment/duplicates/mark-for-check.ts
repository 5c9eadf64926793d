// Marks a paid session for a check if a callback names another payment than the one that settled it, and
// stores the checkouts that the sweep must check. find-and-store-duplicates.ts makes the check.
//
// The mark is stored with the session, so that neither a crash nor an outage of the provider loses it. It
// counts towards the rate limit of the session: many callbacks cause one check.
//
// The checkouts are stored in the session's row of callback_count, because an unjournaled callback leaves
// nothing else. Anybody can send forged ids, so only the newest are kept, and the newest are checked first.
import type { Pool, PoolClient, QueryConfig } from 'pg';
import { DRIVERS } from '../providers/registry.ts';
import type { StoredSession } from '../sessions/read-sessions.ts';
import { countVerification } from '../verification/rate-limit.ts';

/** SQL: the provider's id of the payment that `callback k` names; null if it names none. */
export const NAMED_PAYMENT = `case k.gateway ${DRIVERS.flatMap(({ gateway, callback }) =>
  callback.paymentField === undefined
    ? []
    : [`when '${gateway}' then nullif(k.fields->>'${callback.paymentField}', '')`],
).join(' ')} end`;

/** SQL: the provider's id of the checkout that `callback k` names; null if it names none. */
export const NAMED_CHECKOUT = `case k.gateway ${DRIVERS.flatMap(({ gateway, callback }) => {
  const fields = callback.checkoutFields?.map((field) => `nullif(k.fields->>'${field}', '')`) ?? [];
  return fields.length > 0 ? [`when '${gateway}' then coalesce(${fields})`] : [];
}).join(' ')} end`;

/** The payment and the checkout that a callback names, by the provider's ids. */
export type PaymentName = {
  readonly validationId?: string | undefined;
  readonly providerPaymentId?: string | undefined;
};

/** SQL: whether a payment has neither paid a session nor is a known duplicate payment. */
export function isUnknownPayment(gateway: string, payment: string): string {
  // payment_proof_pkey, duplicate_payment_transaction_key
  return `${payment} is not null
    and not exists (
      select from payment_proof p
      where p.gateway = ${gateway} and p.kind = 'payment' and p.value = ${payment})
    and not exists (
      select from duplicate_payment d
      where d.gateway = ${gateway} and d.gateway_transaction_id = ${payment})`;
}

/**
 * SQL assignments that make the sweep check the paid `charge_session c` as soon as the rate limit allows.
 * They change the time that a running check has reserved, so that its result does not count.
 */
export function setOtherPayment(at: `$${number}`): string {
  return `other_payment_since = coalesce(c.other_payment_since, ${at}),
    next_check_at = least(greatest(${at}, c.verification_allowed_at),
                          c.next_check_at - interval '1 millisecond'),
    ${countVerification()}`;
}

/**
 * The statement to run after the one that settles a session, if its callbacks may name another payment than
 * `settledBy` and the session's checkout.
 */
export function markOtherPayments(
  { id, gateway, providerPaymentId }: Pick<StoredSession, 'id' | 'gateway' | 'providerPaymentId'>,
  named: readonly PaymentName[],
  at: Date,
  settledBy: string | undefined,
): QueryConfig {
  const payments = named.flatMap(({ validationId: id }) => (id && id !== settledBy ? [id] : []));
  const checkouts = named.flatMap(({ providerPaymentId: id }) =>
    id && id !== providerPaymentId ? [id] : [],
  );
  return {
    name: 'mark_other_payments',
    text: MARK_OTHER_PAYMENTS,
    values: [id, gateway, payments, at, checkouts],
  };
}

/** Checkout ids of one check: each takes a provider call of its own if the provider has no list. */
const MAX_CHECKED = 5;
/** Checkout ids that a session keeps. */
export const MAX_CHECKOUTS = 50;

/** SQL: the newest distinct elements of an array, the oldest of them first. */
export function newestCheckouts(all: string): string {
  return `array(
    select id from (
      select u.id, max(u.place) as place from unnest(${all}) with ordinality as u (id, place)
      group by u.id order by place desc limit ${MAX_CHECKOUTS}
    ) as newest order by place)`;
}

/**
 * SQL: the statement that stores checkout ids. `found` selects session ids, each with an array of checkout
 * ids.
 */
export function storeCheckouts(found: string): string {
  // callback_count_pkey; in the order of the ids, so that concurrent statements cannot deadlock
  return `insert into callback_count as k (session_id, kept, ignored, mismatch, other_checkouts)
    select f.session_id, 0, 0, 0, f.ids from (${found}) as f (session_id, ids) order by f.session_id
    on conflict (session_id) do update
    set other_checkouts = ${newestCheckouts('k.other_checkouts || excluded.other_checkouts')}`;
}

/**
 * SQL: whether a checkout id belongs neither to a session nor to a known duplicate payment of this session.
 */
export function isUnknownCheckout(sessionId: string, checkout: string): string {
  // charge_session_provider_payment_id_key, duplicate_payment_session_idx
  return `${checkout} is not null
    and not exists (select from charge_session o where o.provider_payment_id = ${checkout})
    and not exists (
      select from duplicate_payment d
      where d.session_id = ${sessionId} and d.provider_payment_id = ${checkout})`;
}

// charge_session_pkey, callback_count_pkey
const MARK_OTHER_PAYMENTS = `with marked as (
  update charge_session c set ${setOtherPayment('$4')}
  where c.id = $1 and c.status = 'success' and (
    exists (select from unnest($3::text[]) as n (payment) where ${isUnknownPayment('$2', 'n.payment')})
    or exists (select from unnest($5::text[]) as n (checkout) where ${isUnknownCheckout('$1', 'n.checkout')}))
  returning c.id
)
${storeCheckouts(`select m.id, array_agg(n.checkout) from marked m, unnest($5::text[]) as n (checkout)
  where ${isUnknownCheckout('$1', 'n.checkout')} group by m.id`)}`;

/** The checkout ids of one check, the newest first. */
export type CheckoutBatch = {
  readonly ids: readonly string[];
  /** The session's count of verifications triggered by callbacks when the ids were read. */
  readonly verifications: number;
};

export async function readCheckouts(pool: Pool, sessionId: string): Promise<CheckoutBatch> {
  const { rows } = await pool.query<{ ids: string[]; verifications: number }>({
    name: 'read_other_checkouts',
    // charge_session_pkey, callback_count_pkey
    text: `select c.callback_verifications as verifications,
                  array(select u.id from unnest(k.other_checkouts) with ordinality as u (id, place)
                        order by u.place desc limit ${MAX_CHECKED}) as ids
           from charge_session c left join callback_count k on k.session_id = c.id
           where c.id = $1`,
    values: [sessionId],
  });
  return rows[0] ?? { ids: [], verifications: 0 };
}

export type CheckedCheckouts = {
  readonly batch: CheckoutBatch;
  /** Ids that the provider did not answer. They are checked again after all others. */
  readonly unanswered: readonly string[];
  /** Ids that are stored as duplicate payments. */
  readonly found: readonly string[];
};

/**
 * Drops the ids that the provider has answered; returns how many are left. If a callback has named a payment
 * since they were read, the answer may be older than the payment: ids that were not found stay for one more
 * check.
 */
export async function dropAnswered(
  client: PoolClient,
  sessionId: string,
  { batch, unanswered, found }: CheckedCheckouts,
): Promise<number> {
  const { rows } = await client.query<{ left: number }>({
    name: 'drop_other_checkouts',
    // callback_count_pkey, charge_session_pkey
    text: `update callback_count k
           set other_checkouts = array(
             select u.id from unnest(k.other_checkouts) with ordinality as u (id, place)
             where u.id <> all($2) or u.id = any($3) or (c.callback_verifications <> $5 and u.id <> all($4))
             order by u.id = any($2) desc, u.place)
           from charge_session c
           where k.session_id = $1 and c.id = $1 and k.other_checkouts <> '{}'
           returning cardinality(k.other_checkouts) as "left"`,
    values: [sessionId, batch.ids, unanswered, found, batch.verifications],
  });
  return rows[0]?.left ?? 0;
}
