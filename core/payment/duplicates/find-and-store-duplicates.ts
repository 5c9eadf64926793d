// Looks for further payments of a paid session at its provider, and stores them as duplicate payments.
//
// By queries only: no money moves and nothing is settled. A payment that is found again stays the same row.
import type { PoolClient } from 'pg';
import { recordChanges } from '../../audit/record.ts';
import { formatId, newUuid } from '../../ids.ts';
import { columns, inTransaction } from '../../storage/sql/transaction.ts';
import { formatMoney } from '../money.ts';
import {
  type FoundPayment,
  type FoundPayments,
  ProviderUnavailable,
  type VerificationStep,
} from '../providers/driver.ts';
import { personalValues } from '../providers/driver-calls.ts';
import { lockSession, type StoredSession } from '../sessions/read-sessions.ts';
import { recordSteps, SETTLEMENT } from '../settlement/write-settlement.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { ProviderConcurrency, Providers } from '../slots/provider-connections.ts';
import { isFenced, type VerificationLease, type VerificationLeases } from '../verification/lease.ts';
import { endLease } from '../verification/take-and-end-lease.ts';
import { type CheckoutBatch, dropAnswered, readCheckouts } from './mark-for-check.ts';

export type DuplicateCheck =
  /** `left`: payment ids that callbacks named and that are still to be checked. */
  | { readonly kind: 'checked'; readonly left: number }
  /** The provider did not answer for the session, or not for some payment ids; the other ones are checked. */
  | { readonly kind: 'unavailable'; readonly reason: string }
  /** The verification lease is taken. */
  | { readonly kind: 'busy' };

export type FindDuplicates = (sessionId: string, waitMs?: number) => Promise<DuplicateCheck>;

export type FindDuplicatesOptions = PaymentDependencies & {
  readonly leases: VerificationLeases;
  readonly concurrency: ProviderConcurrency;
  readonly providers: Providers;
};

export function createFindDuplicates(options: FindDuplicatesOptions): FindDuplicates {
  return async (sessionId, waitMs = 0) => {
    const work = (lease: VerificationLease) => check(options, lease);
    return (await options.leases.run(sessionId, { work, waitMs })) ?? { kind: 'busy' };
  };
}

async function check(options: FindDuplicatesOptions, lease: VerificationLease): Promise<DuplicateCheck> {
  const { pool, metrics, logger } = options;
  const { session } = lease;
  if (session.status !== 'success') return { kind: 'checked', left: 0 };
  const steps: VerificationStep[] = [];
  const checkouts = await readCheckouts(pool, session.id);
  let found: FoundPayments;
  try {
    found = await callProvider(options, lease, checkouts.ids, (step) => steps.push(step));
  } catch (error) {
    if (!(error instanceof ProviderUnavailable)) throw error;
    if (steps.length > 0) await pool.query(recordSteps([{ sessionId: session.id, callbackIds: [], steps }]));
    metrics.duplicateCheck('unavailable');
    return { kind: 'unavailable', reason: error.message };
  }
  const stored = await store(options, lease, { steps, checkouts, found });
  lease.markEnded();
  if (stored === undefined) {
    metrics.fenced(session.slot);
    return { kind: 'busy' };
  }
  const { added, left } = stored;
  const [reason] = found.unanswered.values();
  metrics.duplicateCheck(added.length > 0 ? 'found' : reason === undefined ? 'none' : 'unavailable');
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
}

async function callProvider(
  { providers, concurrency }: FindDuplicatesOptions,
  { session, limitHttp }: VerificationLease,
  claimedPaymentIds: readonly string[],
  observe: (step: VerificationStep) => void,
): Promise<FoundPayments> {
  const { driver, access } = await providers.forSlot(session.slotId, observe);
  const { merchantTransactionId, providerPaymentId = '', customer } = session;
  const personal = personalValues(customer);
  return concurrency.run(session.slot, () =>
    driver.findPayments(
      { ...access, personal, http: limitHttp(access.http) },
      { merchantTransactionId, providerPaymentId, claimedPaymentIds },
    ),
  );
}

type Answer = {
  readonly steps: readonly VerificationStep[];
  readonly checkouts: CheckoutBatch;
  readonly found: FoundPayments;
};

/** Ends the verification lease. Undefined if another hub took it since. */
function store(
  { pool, clock }: FindDuplicatesOptions,
  { session: { id: sessionId }, fence }: VerificationLease,
  { steps, checkouts, found: { payments, unanswered } }: Answer,
): Promise<{ readonly added: readonly Added[]; readonly left: number } | undefined> {
  return inTransaction(pool, async (client, send) => {
    const session = await lockSession(client, sessionId);
    if (steps.length > 0) send(recordSteps([{ sessionId, callbackIds: [], steps }]));
    if (session === undefined || isFenced({ fence }, session)) return undefined;
    const added = await addDuplicates(client, session, payments, clock());
    const left = await dropAnswered(client, sessionId, {
      batch: checkouts,
      unanswered: [...unanswered.keys()],
      found: payments.map(({ providerPaymentId }) => providerPaymentId),
    });
    send(endLease({ sessionId, holder: fence.holder }));
    return { added, left };
  });
}

type Added = FoundPayment & { readonly id: string };

/** Stores the payments that have paid no session and are not stored yet. */
async function addDuplicates(
  client: PoolClient,
  session: StoredSession,
  payments: readonly FoundPayment[],
  at: Date,
): Promise<Added[]> {
  if (payments.length === 0) return [];
  const candidates = payments.map((payment) => ({ ...payment, id: newUuid() }));
  const { rows } = await client.query<{ id: string }>({
    name: 'add_duplicates',
    // payment_proof_pkey, duplicate_payment_transaction_key, duplicate_payment_bank_key
    text: `insert into duplicate_payment (id, session_id, slot_id, gateway, gateway_transaction_id,
                                          bank_transaction_id, provider_payment_id, amount_minor, currency,
                                          found_at, resolution)
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
      ...columns(candidates, 'id', 'gatewayTransactionId', 'bankTransactionId', 'providerPaymentId'),
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
