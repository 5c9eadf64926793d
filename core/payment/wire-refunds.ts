// Wires the requests for refunds, and the sweep that finds out what became of them.
import { RefundService } from '../../gen/hub/payment/v1/refund_service_pb.ts';
import { type ServiceEntry, serve } from '../service-entry.ts';
import { DAY_MS, type PaymentContext, RETRY_DELAY_MAX_MS } from './options.ts';
import { createCreateRefund } from './refunds/create-refund.ts';
import { createRecordRefunds } from './refunds/record-refunds.ts';
import { createRefundCallbacks } from './refunds/refund-callbacks.ts';
import { createRefunds } from './refunds/refunds.ts';
import { createRefundService } from './refunds/service.ts';
import { startRefundSweep } from './refunds/sweep-refunds.ts';
import { createSyncRefunds } from './refunds/sync-refunds.ts';
import { createProviderConcurrency } from './slots/provider-access.ts';
import { sweepInterval } from './wire-sweep.ts';
import type { Verification } from './wire-verification.ts';

/** Calls about refunds of one slot at the same time, besides its verifications. */
const PLACES = 4;
/** The other places are for requests and rechecks. */
const SWEEP_PLACES = 2;

export function wireRefunds(context: PaymentContext, verification: Verification) {
  const { pool, db, clock, logger, tasks, config, leaseMs, undo, paymentMetrics: metrics } = context;
  const limits = { retryDelayMs: config.retryDelayMs, retryDelayMaxMs: RETRY_DELAY_MAX_MS };
  const shared = { pool, clock, logger, metrics, ...limits };
  const refundCallbacks = createRefundCallbacks({ ...shared, giveUpAfterMs: DAY_MS });
  const syncRefunds = createSyncRefunds({
    ...shared,
    ...verification,
    concurrency: createProviderConcurrency(PLACES, metrics.verificationRejected),
    record: createRecordRefunds({ ...limits, metrics, sales: context.sales }),
    leaseMs,
  });
  const sweep = startRefundSweep({
    ...shared,
    syncRefunds,
    verifySession: verification.verifySession,
    callbacks: refundCallbacks,
    task: tasks.of('refund_sweep'),
    concurrency: SWEEP_PLACES,
    intervalMs: sweepInterval(config),
    reservationMs: leaseMs,
  });
  undo.defer(() => sweep.stop());
  const service = createRefundService({
    createRefund: createCreateRefund({ ...shared, syncRefunds, busyWaitMs: config.providerTimeoutMs }),
    refunds: createRefunds({ db, clock }),
  });
  const services: readonly ServiceEntry[] = [serve(RefundService, service)];
  return { refundCallbacks, syncRefunds, refundServices: services };
}
