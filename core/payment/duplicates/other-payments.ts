// Callbacks of a paid session that name another payment than the one that settled it: marks the session for
// the sweep.
//
// The mark is stored with the session, so that neither a crash nor an outage of the provider loses it. It
// counts towards the rate limit of the session: many callbacks cause one check.
import type { QueryConfig } from 'pg';
import { DRIVERS } from '../providers/registry.ts';
import type { SessionFacts } from '../sessions/row.ts';
import { NEXT_VERIFICATION_AT } from '../verification/rate.ts';
import { isUnknownCheckout, storeCheckouts } from './other-checkouts.ts';

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

/** The payments and checkouts that callbacks name, by the provider's ids. */
export type NamedPayments = { readonly payments: readonly string[]; readonly checkouts: readonly string[] };

export type PaymentName = {
  readonly validationId?: string | undefined;
  readonly providerPaymentId?: string | undefined;
};

export function namedBy(callbacks: readonly PaymentName[]): NamedPayments {
  return {
    payments: callbacks.flatMap(({ validationId }) => validationId || []),
    checkouts: callbacks.flatMap(({ providerPaymentId }) => providerPaymentId || []),
  };
}

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
    next_check_at = least(greatest(${at}, c.question_after), c.next_check_at - interval '1 millisecond'),
    callback_questions = c.callback_questions + 1, question_after = ${NEXT_VERIFICATION_AT}`;
}

/**
 * The statement to run after the one that settles a session, by the payment `settledBy` if the session was
 * not paid before. Undefined if the callbacks name no other payment.
 */
export function markOtherPayments(
  { id, gateway, providerPaymentId }: Pick<SessionFacts, 'id' | 'gateway' | 'providerPaymentId'>,
  named: NamedPayments | undefined,
  at: Date,
  settledBy?: string,
): QueryConfig | undefined {
  const payments = named?.payments.filter((payment) => payment !== settledBy) ?? [];
  const checkouts = named?.checkouts.filter((checkout) => checkout !== providerPaymentId) ?? [];
  if (payments.length + checkouts.length === 0) return undefined;
  return {
    name: 'mark_other_payments',
    // charge_session_pkey, callback_count_pkey
    text: `with marked as (
             update charge_session c set ${setOtherPayment('$4')}
             where c.id = $1 and c.status = 'success' and (
               exists (select from unnest($3::text[]) as n (payment)
                       where ${isUnknownPayment('$2', 'n.payment')})
               or exists (select from unnest($5::text[]) as n (checkout)
                          where ${isUnknownCheckout('$1', 'n.checkout')}))
             returning c.id
           )
           ${storeCheckouts(`select m.id, array_agg(n.checkout)
             from marked m, unnest($5::text[]) as n (checkout)
             where ${isUnknownCheckout('$1', 'n.checkout')} group by m.id`)}`,
    values: [id, gateway, payments, at, checkouts],
  };
}
