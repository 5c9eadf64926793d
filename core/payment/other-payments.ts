// Callbacks of a paid session that name another payment than the one that settled it: the sweep asks the provider.
//
// What they cause is kept with the session, so that neither a crash nor a provider that is away loses it, and it spends
// the session's budget of questions: many callbacks cause one question.
import type { Pool, QueryConfig } from 'pg';
import type { Clock } from '../clock.ts';
import { inTransaction } from '../storage/transaction.ts';
import { finishCallbacks, type JournaledCallback, type Outcome } from './journal.ts';
import { isUnknownCheckout, noteCheckouts } from './other-checkouts.ts';
import { NEXT_QUESTION_AFTER } from './question-budget.ts';
import { DRIVERS } from './registry.ts';
import type { SessionFacts } from './session-facts.ts';

/** The payment that a `callback k` names by the provider's id; null if it names none. */
export const NAMED_PAYMENT = `case k.gateway ${DRIVERS.flatMap(({ gateway, callback }) =>
  callback.paymentField === undefined
    ? []
    : [`when '${gateway}' then nullif(k.fields->>'${callback.paymentField}', '')`],
).join(' ')} end`;

/** The checkout that a `callback k` names by the provider's id; null if it names none. */
export const NAMED_CHECKOUT = `case k.gateway ${DRIVERS.flatMap(({ gateway, callback }) => {
  const fields = callback.checkoutFields?.map((field) => `nullif(k.fields->>'${field}', '')`) ?? [];
  return fields.length > 0 ? [`when '${gateway}' then coalesce(${fields})`] : [];
}).join(' ')} end`;

/** The ids by which callbacks name payments, perhaps others than the one that settles the session. */
export type NamedPayments = { readonly payments: readonly string[]; readonly checkouts: readonly string[] };

/** What a callback calls its payment. */
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

/** Whether the hub has not seen the payment yet: neither has it paid a session, nor is it a known duplicate. */
export function isUnknownPayment(gateway: string, payment: string): string {
  // payment_proof_pkey, duplicate_payment_transaction_key
  return `${payment} is not null
    and not exists (select from payment_proof p where p.gateway = ${gateway} and p.kind = 'payment' and p.value = ${payment})
    and not exists (
      select from duplicate_payment d where d.gateway = ${gateway} and d.gateway_transaction_id = ${payment})`;
}

/**
 * Makes the sweep ask about the paid `charge_session c` as soon as its budget allows. A check that is under way finds
 * another time than it set, and so does not count as the answer.
 */
export function setOtherPayment(at: `$${number}`): string {
  return `other_payment_since = coalesce(c.other_payment_since, ${at}),
    next_check_at = least(greatest(${at}, c.question_after), c.next_check_at - interval '1 millisecond'),
    callback_questions = c.callback_questions + 1, question_after = ${NEXT_QUESTION_AFTER}`;
}

/**
 * Of a session that is paid, after the statement that pays it. `paidBy`: the payment that does. Undefined if callbacks
 * name no other.
 */
export function markOtherPayments(
  { id, gateway, providerPaymentId }: Pick<SessionFacts, 'id' | 'gateway' | 'providerPaymentId'>,
  named: NamedPayments | undefined,
  at: Date,
  paidBy?: string,
): QueryConfig | undefined {
  const payments = named?.payments.filter((payment) => payment !== paidBy) ?? [];
  const checkouts = named?.checkouts.filter((checkout) => checkout !== providerPaymentId) ?? [];
  if (payments.length + checkouts.length === 0) return undefined;
  return {
    name: 'mark_other_payments',
    // charge_session_pkey, callback_count_pkey
    text: `with marked as (
             update charge_session c set ${setOtherPayment('$4')}
             where c.id = $1 and c.status = 'success' and (
               exists (select from unnest($3::text[]) as n (payment) where ${isUnknownPayment('$2', 'n.payment')})
               or exists (select from unnest($5::text[]) as n (checkout) where ${isUnknownCheckout('$1', 'n.checkout')}))
             returning c.id
           )
           ${noteCheckouts(`select m.id, array_agg(n.checkout) from marked m, unnest($5::text[]) as n (checkout)
             where ${isUnknownCheckout('$1', 'n.checkout')} group by m.id`)}`,
    values: [id, gateway, payments, at, checkouts],
  };
}

export type FinishOtherCheckout = ReturnType<typeof createFinishOtherCheckout>;

/**
 * Finishes a callback that names another checkout of the provider than the session's. If the session is paid, the sweep
 * asks about that one, unless it is another session's.
 */
export function createFinishOtherCheckout({ pool, clock }: { readonly pool: Pool; readonly clock: Clock }) {
  return async (
    { id, gateway }: Pick<JournaledCallback, 'id' | 'gateway'>,
    providerPaymentId: string,
    outcome: Outcome & { readonly sessionId: string },
  ): Promise<void> => {
    const at = clock();
    // In one transaction: a crash loses neither the mark nor the payment id.
    await inTransaction(pool, async (client, send) => {
      send({
        name: 'mark_other_checkout',
        // charge_session_pkey, callback_count_pkey
        text: `with marked as (
                 update charge_session c set ${setOtherPayment('$3')}
                 where c.id = $1 and c.status = 'success' and ${isUnknownCheckout('$1', '$2::text')}
                   and exists (select from slot s where s.id = c.slot_id and s.gateway = $4)
                 returning c.id
               )
               ${noteCheckouts('select id, array[$2::text] from marked')}`,
        values: [outcome.sessionId, providerPaymentId, at, gateway],
      });
      await finishCallbacks(client, [id], outcome, at);
    });
  };
}
