// Finishes the callbacks that wait for an answer about sessions that are paid now.
import type { QueryConfig } from 'pg';
import { isUnknownCheckout, noteCheckouts } from './other-checkouts.ts';
import { isUnknownPayment, NAMED_CHECKOUT, NAMED_PAYMENT, setOtherPayment } from './other-payments.ts';
import { PAID_BEFORE } from './settlement.ts';

/**
 * No further provider query will follow. If a callback names another payment, or one that was only counted may have, the
 * sweep asks about it. Returns one gateway per callback.
 */
export function finishWaiting(sessionIds: readonly string[], at: Date): QueryConfig {
  return {
    name: 'finish_waiting',
    // callback_waiting_idx, charge_session_pkey, callback_count_pkey
    text: `with finished as (
             update callback k set state = 'settled', reason = $2, finished_at = $3, attempts = attempts + 1
             where session_id = any($1) and state = 'received'
             returning session_id, gateway, ${NAMED_PAYMENT} as payment, ${NAMED_CHECKOUT} as checkout
           ), marked as (
             update charge_session c set ${setOtherPayment('$3')}
             from (
               select session_id from finished f
               where (${isUnknownPayment('f.gateway', 'f.payment')})
                 or (${isUnknownCheckout('f.session_id', 'f.checkout')})
               union
               select session_id from callback_count where session_id = any($1) and asked_for_at is not null
             ) f
             where c.id = f.session_id and c.status = 'success'
           ), noted as (
             ${noteCheckouts(`select f.session_id, array_agg(f.checkout) from finished f
               join charge_session c on c.id = f.session_id
               where c.status = 'success' and ${isUnknownCheckout('f.session_id', 'f.checkout')}
               group by f.session_id`)}
           )
           select gateway from finished`,
    values: [sessionIds, PAID_BEFORE.detail, at],
  };
}
