// Finishes a callback that names another checkout of the provider than its session's.
import { inTransaction } from '../../storage/sql/transaction.ts';
import { finishCallbacks } from '../callbacks/journaled-callbacks.ts';
import type { Outcome } from '../settlement/finding.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import { isUnknownCheckout, setOtherPayment, storeCheckouts } from './mark-for-check.ts';

export type FinishOtherCheckout = ReturnType<typeof createFinishOtherCheckout>;

/** If the session is paid, the sweep checks the other checkout, unless that belongs to another session. */
export function createFinishOtherCheckout(options: Pick<PaymentDependencies, 'pool' | 'clock'>) {
  return async (
    { id, gateway }: { readonly id: string; readonly gateway: string },
    providerPaymentId: string,
    outcome: Outcome & { readonly sessionId: string },
  ): Promise<void> => {
    const at = options.clock();
    // One transaction, so that a crash loses neither the mark nor the payment id.
    await inTransaction(options.pool, async (client, send) => {
      send({
        name: 'mark_other_checkout',
        text: MARK_OTHER_CHECKOUT,
        values: [outcome.sessionId, providerPaymentId, at, gateway],
      });
      await finishCallbacks(client, [id], outcome, at);
    });
  };
}

// charge_session_pkey, callback_count_pkey
const MARK_OTHER_CHECKOUT = `with marked as (
  update charge_session c set ${setOtherPayment('$3')}
  where c.id = $1 and c.status = 'success' and ${isUnknownCheckout('$1', '$2::text')}
    and exists (select from slot s where s.id = c.slot_id and s.gateway = $4)
  returning c.id
)
${storeCheckouts('select id, array[$2::text] from marked')}`;
