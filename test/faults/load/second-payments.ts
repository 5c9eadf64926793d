// Sessions with second payments: the provider's payments and the hub's duplicate payments.
import type { SimulatedPayment } from '../../../cli/simulator/controls.ts';
import type { Simulator } from '../../../cli/simulator/simulator.ts';
import type { ChargeSession } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { callBack, callbackFields, STATUSES } from '../../support/hub/payment.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import type { BookedSession } from '../model/booked-session.ts';
import type { Cluster } from '../scenes/cluster.ts';

export type StandingPayment = Pick<
  SimulatedPayment,
  'gateway' | 'merchantTransactionId' | 'ref' | 'amount'
> & { readonly proof: string };

/** All valid payments at the provider. A checkout of gateway_one can have several. */
export function standingPayments(simulator: Simulator): StandingPayment[] {
  return simulator
    .payments()
    .filter(({ state }) => state === 'paid')
    .flatMap(({ proof = '', ...payment }) => {
      const proofs = payment.gateway === 'gateway_one' ? simulator.proofs(payment.ref) : [proof];
      return proofs.map((each) => ({ ...payment, proof: each }));
    });
}

export type BookedDuplicate = {
  readonly merchantTransactionId: string;
  readonly gateway: string;
  readonly proof: string;
  readonly providerPaymentId: string;
  readonly minor: string;
  readonly currency: string;
  readonly isResolved: boolean;
};

export function readDuplicates(databaseUrl: string): Promise<BookedDuplicate[]> {
  return query<BookedDuplicate>(
    databaseUrl,
    `select c.merchant_transaction_id as "merchantTransactionId", d.gateway, d.gateway_transaction_id as proof,
            d.provider_payment_id as "providerPaymentId", d.amount_minor as minor, d.currency,
            d.resolved_at is not null as "isResolved"
     from duplicate_payment d join charge_session c on c.id = d.session_id`,
  );
}

/**
 * Each valid payment that did not settle its session must be exactly one duplicate payment. There must be no
 * others.
 */
export function duplicateTrouble(
  sessions: readonly BookedSession[],
  duplicates: readonly BookedDuplicate[],
  standing: readonly StandingPayment[],
): string[] {
  const standingOf = Map.groupBy(standing, ({ merchantTransactionId }) => merchantTransactionId);
  const duplicatesOf = Map.groupBy(duplicates, ({ merchantTransactionId }) => merchantTransactionId);
  return sessions.flatMap(({ merchantTransactionId, status, gateway, proof }) => {
    const expected = (standingOf.get(merchantTransactionId) ?? [])
      .filter((payment) => status === 'success' && payment.proof !== proof)
      .map((payment) =>
        rowOf({
          ...payment,
          ...payment.amount,
          gateway,
          providerPaymentId: payment.ref,
          isResolved: false,
        }),
      );
    const booked = (duplicatesOf.get(merchantTransactionId) ?? []).map(rowOf);
    if (`${expected.sort()}` === `${booked.sort()}`) return [];
    return [
      `session ${merchantTransactionId} at ${gateway} is ${status}: its duplicate payments are ` +
        `${booked.join(', ') || 'none'}, not ${expected.join(', ') || 'none'}`,
    ];
  });
}

function rowOf({
  gateway,
  proof,
  providerPaymentId,
  minor,
  currency,
  isResolved,
}: Omit<BookedDuplicate, 'merchantTransactionId' | 'minor'> & { readonly minor: string | bigint }): string {
  const state = isResolved ? 'resolved' : 'open';
  return `${proof} (${providerPaymentId} at ${gateway}, ${minor} ${currency}, ${state})`;
}

const TIMEOUT_MS = 10_000;

/**
 * Reloads the provider's page for second payments whose callbacks are not in the journal. gateway_two has no
 * list of payments, so the hub cannot learn of them without a callback. A forged callback that says "cancel"
 * can name a payment whose own callback is lost.
 */
export async function bringMissingCallbacks(
  { databaseUrl, door, simulator }: Cluster,
  sessions: readonly ChargeSession[],
): Promise<void> {
  const journaled = new Set(
    (
      await query<{ payment: string | null }>(
        databaseUrl,
        `select distinct coalesce(fields->>'val_id', fields->>'paymentID') as payment from callback
         where gateway <> 'gateway_two' or fields->>'status' = $1`,
        [STATUSES.gateway_two.paid],
      )
    ).map(({ payment }) => payment),
  );
  const standing = Map.groupBy(
    standingPayments(simulator),
    ({ merchantTransactionId }) => merchantTransactionId,
  );
  for (const session of sessions) {
    const { merchantTransactionId, gateway } = session;
    const missing = (standing.get(merchantTransactionId) ?? []).filter(
      ({ ref, proof }) => !journaled.has(gateway === 'gateway_two' ? ref : proof),
    );
    for (const { ref, proof } of missing) {
      const fields = callbackFields(session, 'paid', proof);
      const own = gateway === 'gateway_two' ? { ...fields, paymentID: ref } : fields;
      await until(
        async () => (await callBack(door.url, gateway, own)).status === 200,
        `the callback of ${ref} is answered`,
        TIMEOUT_MS,
      );
    }
  }
}
