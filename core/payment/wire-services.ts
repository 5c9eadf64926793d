// Wires the RPC services of the payment module.
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { type ServiceEntry, serve } from '../service-entry.ts';
import { createPaymentAdminService } from './admin-service.ts';
import { createCallbacks } from './callbacks/admin.ts';
import { createReplayCallback } from './callbacks/replay.ts';
import { createDuplicates } from './duplicates/admin.ts';
import { createFeeBacktest } from './fees/backtest.ts';
import { createFeePreview } from './fees/preview.ts';
import { createFeeRules } from './fees/versions.ts';
import type { PaymentContext } from './options.ts';
import { DRIVERS, driverOf } from './providers/registry.ts';
import { createPaymentService } from './service.ts';
import { createCreateSession } from './sessions/create.ts';
import { createSessions } from './sessions/queries.ts';
import { createReleaseSession } from './settlement/release-session.ts';
import { createSlots } from './slots/admin.ts';
import { createReencryptSecrets } from './slots/reseal-credentials.ts';
import { createTestSlot } from './slots/test-connection.ts';
import { createSummarizeUsage } from './usage/days.ts';
import { createUsage } from './usage/queries.ts';
import { createRecheck } from './verification/recheck.ts';
import type { wireCallbacks } from './wire-callbacks.ts';
import type { wireSweep } from './wire-sweep.ts';
import type { Verification } from './wire-verification.ts';

type Parts = Verification & Awaited<ReturnType<typeof wireCallbacks>> & ReturnType<typeof wireSweep>;

export function wireServices(context: PaymentContext, parts: Parts): ServiceEntry[] {
  const { db } = context;
  const sessions = createSessions(db);
  const callbacks = createCallbacks({ db, driverOf });
  return [
    serve(CallbackService, { receiveCallback: parts.receiveCallback.receive }),
    serve(PaymentService, wirePaymentService(context, parts, { sessions, callbacks })),
    serve(PaymentAdminService, wireAdminService(context, parts, { sessions, callbacks })),
  ];
}

type Queries = {
  readonly sessions: ReturnType<typeof createSessions>;
  readonly callbacks: ReturnType<typeof createCallbacks>;
};

function wirePaymentService(context: PaymentContext, parts: Parts, queries: Queries) {
  const { pool, clock, config, paymentMetrics: metrics } = context;
  const busyWaitMs = config.providerTimeoutMs;
  const { gatewayAddress } = config;
  return createPaymentService({
    ...queries,
    createSession: createCreateSession({ pool, clock, metrics, busyWaitMs, gatewayAddress, ...parts }),
    recheck: createRecheck({ pool, clock, busyWaitMs, ...parts }),
    events: parts.events,
  });
}

function wireAdminService(context: PaymentContext, parts: Parts, queries: Queries) {
  const { db, pool, clock, logger, sealer, otherSecrets, config } = context;
  const slots = createSlots({ db, sealer, clock, driverOf });
  return createPaymentAdminService({
    ...queries,
    drivers: DRIVERS,
    replayCallback: createReplayCallback({ pool, clock, ...parts, ...queries }),
    slots,
    testSlot: createTestSlot({ slots, providers: parts.providers }),
    feeRules: createFeeRules({ db, clock, driverOf }),
    previewFees: createFeePreview({ db, clock }),
    backtestFees: createFeeBacktest({ db, driverOf }),
    releaseSession: createReleaseSession({
      pool,
      verifySession: parts.verifySession,
      clock,
      logger,
      busyWaitMs: config.providerTimeoutMs,
    }),
    duplicates: createDuplicates({ db, clock }),
    usage: createUsage(db),
    summarizeUsage: createSummarizeUsage(db),
    reencryptSecrets: createReencryptSecrets({ pool, sealer, clock, otherSecrets }),
  });
}
