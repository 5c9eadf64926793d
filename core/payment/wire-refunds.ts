// Wires the requests for refunds, and the sweep that checks their states.
import { RefundService } from '../../gen/hub/payment/v1/refund_service_pb.ts';
import { serve } from '../service-implementation.ts';
import type { PaymentContext } from './module-options.ts';
import { createCreateRefund } from './refunds/create-refund.ts';
import { createRefunds } from './refunds/refund-admin.ts';
import { createRefundCallbacks } from './refunds/refund-callbacks.ts';
import { createRefundService } from './refunds/refund-service.ts';
import { startRefundSweep } from './refunds/sweep-refunds.ts';
import { createSyncRefunds } from './refunds/sync-refunds.ts';
import { createProviderConcurrency } from './slots/provider-connections.ts';
import { sweepInterval } from './wire-sweep.ts';
import type { VerificationParts } from './wire-verification.ts';

/** Concurrent calls about refunds of one slot, in addition to its verifications. */
const MAX_CONCURRENCY = 4;
/** The share of the sweep; the rest is for requests and rechecks. */
const SWEEP_CONCURRENCY = 2;

export function wireRefunds(context: PaymentContext, verification: VerificationParts) {
  const { shared, db, clock, tasks, config, sales, leaseMs, undo } = context;
  const refundCallbacks = createRefundCallbacks(shared);
  const syncRefunds = createSyncRefunds({
    ...shared,
    ...verification,
    concurrency: createProviderConcurrency(MAX_CONCURRENCY, shared.metrics.verificationRejected),
    sales,
    leaseMs,
  });
  const sweep = startRefundSweep({
    ...shared,
    syncRefunds,
    verifySession: verification.verifySession,
    callbacks: refundCallbacks,
    task: tasks.of('refund_sweep'),
    concurrency: SWEEP_CONCURRENCY,
    intervalMs: sweepInterval(config),
    reservationMs: leaseMs,
  });
  undo.defer(() => sweep.stop());
  const createRefund = createCreateRefund({ ...shared, syncRefunds, busyWaitMs: config.providerTimeoutMs });
  const service = createRefundService(createRefund, createRefunds({ db, clock }));
  return { refundCallbacks, syncRefunds, refundServices: [serve(RefundService, service)] };
}
