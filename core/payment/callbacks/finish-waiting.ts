// Finishes the callbacks that wait for the verification of sessions that are now paid.
import type { QueryConfig } from 'pg';
import {
  isUnknownCheckout,
  isUnknownPayment,
  NAMED_CHECKOUT,
  NAMED_PAYMENT,
  setOtherPayment,
  storeCheckouts,
} from '../duplicates/other-payments.ts';
import { PAID_BEFORE } from '../settlement/finding.ts';

/**
 * A paid session is not verified again. If a callback names another payment, or a counted one may have, the
 * sweep looks for duplicate payments. Returns the gateway and the state of each callback.
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
             ${storeCheckouts(`select f.session_id, array_agg(f.checkout) from finished f
               join charge_session c on c.id = f.session_id
               where c.status = 'success' and ${isUnknownCheckout('f.session_id', 'f.checkout')}
               group by f.session_id`)}
           )
           select gateway, 'settled' as state from finished`,
    values: [sessionIds, PAID_BEFORE.detail, at],
  };
}
