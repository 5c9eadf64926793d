// Asks the provider of a paid session whether further payments for it stand, and keeps those as duplicate payments.
//
// By queries only: no money moves, and nothing is settled. A payment that is asked about again is found as the same row.
import type { Pool, PoolClient } from 'pg';
import type { Logger } from 'pino';
import { recordChanges } from '../access/audit.ts';
import type { Clock } from '../clock.ts';
import { formatId, newUuid } from '../ids.ts';
import { inTransaction } from '../storage/transaction.ts';
import type { Providers } from './ask-provider.ts';
import { formatMoney } from './money.ts';
import { dropAnswered, readCheckouts } from './other-checkouts.ts';
import type { PaymentMeter } from './payment-meter.ts';
import {
  type FoundPayment,
  type FoundPayments,
  ProviderUnavailable,
  type VerificationStep,
} from './provider.ts';
import type { QuestionGate } from './question-gate.ts';
import { lockSession, type SessionFacts } from './session-facts.ts';
import { isFenced, recordSteps, SETTLEMENT } from './settlement.ts';
import { endLease, type Lease, type VerificationLease } from './verification-lease.ts';

export type DuplicateCheck =
  /** The provider has answered; `left` is how many payment ids that callbacks have named are still to be asked about. */
  | { readonly kind: 'checked'; readonly left: number }
  /** The provider has not answered, or not about each payment id; the others of these are judged. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** Somebody else is asking about the session. */
  | { readonly kind: 'busy' };

export type FindDuplicates = (sessionId: string, waitMs?: number) => Promise<DuplicateCheck>;

export type FindDuplicatesOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly lease: VerificationLease;
  readonly gate: QuestionGate;
  readonly providers: Providers;
  readonly meter: Pick<PaymentMeter, 'duplicateCheck' | 'fenced'>;
  readonly logger: Pick<Logger, 'warn'>;
};

export function createFindDuplicates(options: FindDuplicatesOptions): FindDuplicates {
  const { pool, clock, lease, gate, providers, meter, logger } = options;

  const check = async ({ session, fence, ended, within }: Lease): Promise<DuplicateCheck> => {
    const steps: VerificationStep[] = [];
    const finding = { sessionId: session.id, callbackIds: [], steps, fence };
    if (session.status !== 'success') return { kind: 'checked', left: 0 };
    const asked = await readCheckouts(pool, session.id);
    let answer: FoundPayments;
    try {
      const { driver, access } = await providers.forSlot(session.slotId, (step) => steps.push(step));
      const question = {
        merchantTransactionId: session.merchantTransactionId,
        providerPaymentId: session.providerPaymentId ?? '',
        claimedPaymentIds: asked.ids,
      };
      answer = await gate.pass(session.slot, () =>
        driver.findPayments({ ...access, http: within(access.http) }, question),
      );
    } catch (error) {
      if (!(error instanceof ProviderUnavailable)) throw error;
      if (steps.length > 0) await pool.query(recordSteps([finding]));
      meter.duplicateCheck('unavailable');
      return { kind: 'unavailable', reason: error.message };
    }
    const { payments, unanswered } = answer;
    const stored = await inTransaction(pool, async (client, send) => {
      const now = await lockSession(client, session.id);
      if (steps.length > 0) send(recordSteps([finding]));
      if (now === undefined || isFenced(finding, now)) return undefined;
      const added = await addDuplicates(client, now, payments, clock());
      const left = await dropAnswered(client, session.id, {
        asked,
        unanswered: [...unanswered.keys()],
        found: payments.map(({ providerPaymentId }) => providerPaymentId),
      });
      send(endLease(session.id, fence.holder));
      return { added, left };
    });
    ended();
    if (stored === undefined) {
      meter.fenced(session.slot);
      return { kind: 'busy' };
    }
    const { added, left } = stored;
    const [reason] = unanswered.values();
    meter.duplicateCheck(added.length > 0 ? 'found' : reason === undefined ? 'none' : 'unavailable');
    for (const { id, amount, gatewayTransactionId } of added) {
      logger.warn(
        {
          sessionId: formatId('chs', session.id),
          duplicatePaymentId: formatId('dup', id),
          gatewayTransactionId,
          amount: formatMoney(amount),
        },
        'the session was paid more than once: refund the duplicate payment, or settle it with the customer',
      );
    }
    return reason === undefined ? { kind: 'checked', left } : { kind: 'unavailable', reason };
  };

  return async (sessionId, waitMs = 0) =>
    (await lease.run(sessionId, { work: check, waitMs, inVain: async () => undefined })) ?? { kind: 'busy' };
}

type Added = FoundPayment & { readonly id: string };

/** Those that have paid no session, and were not found before. */
async function addDuplicates(
  client: PoolClient,
  session: SessionFacts,
  payments: readonly FoundPayment[],
  at: Date,
): Promise<Added[]> {
  if (payments.length === 0) return [];
  const candidates = payments.map((payment) => ({ ...payment, id: newUuid() }));
  const { rows } = await client.query<{ id: string }>({
    name: 'add_duplicates',
    // payment_proof_pkey, duplicate_payment_transaction_key, duplicate_payment_bank_key
    text: `insert into duplicate_payment (id, session_id, slot_id, gateway, gateway_transaction_id, bank_transaction_id,
                                          provider_payment_id, amount_minor, currency, found_at, resolution)
           select t.id, $1, $2, $3, t.payment, t.bank, t.checkout, t.amount, t.currency, $4, ''
           from unnest($5::uuid[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[])
             as t (id, payment, bank, checkout, amount, currency)
           where not exists (
             select from payment_proof p
             where p.gateway = $3 and (p.kind, p.value) in (('payment', t.payment), ('bank', t.bank)))
           on conflict do nothing returning id`,
    values: [
      session.id,
      session.slotId,
      session.gateway,
      at,
      candidates.map(({ id }) => id),
      candidates.map(({ gatewayTransactionId }) => gatewayTransactionId),
      candidates.map(({ bankTransactionId }) => bankTransactionId ?? null),
      candidates.map(({ providerPaymentId }) => providerPaymentId),
      candidates.map(({ amount }) => amount.minor),
      candidates.map(({ amount }) => amount.currency),
    ],
  });
  const ids = new Set(rows.map(({ id }) => id));
  const added = candidates.filter(({ id }) => ids.has(id));
  if (added.length > 0) {
    const changes = added.map(({ id, gatewayTransactionId, amount }) => ({
      action: 'duplicate_payment.find',
      subject: formatId('dup', id),
      before: null,
      after: { session: formatId('chs', session.id), gatewayTransactionId, amount: formatMoney(amount) },
    }));
    await client.query(recordChanges(SETTLEMENT, at, changes));
  }
  return added;
}
