// Wires the RPC services of the payment module.
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { type ServiceEntry, serve } from '../service-implementation.ts';
import { createPaymentAdminService } from './admin-service.ts';
import { createCallbacks } from './callbacks/admin.ts';
import { createReplayCallback } from './callbacks/replay.ts';
import { createDuplicates } from './duplicates/admin.ts';
import { createAuditFees } from './fees/audit.ts';
import { createFeeBacktest } from './fees/backtest.ts';
import { createFitFeeRule } from './fees/fit-rule.ts';
import { createFeePreview } from './fees/preview.ts';
import { createFeeRules } from './fees/versions.ts';
import type { PaymentContext } from './options.ts';
import { DRIVERS, driverOf } from './providers/registry.ts';
import { createPaymentService } from './service.ts';
import { createCreateSession } from './sessions/create.ts';
import { createSessions } from './sessions/queries.ts';
import { createGetReturnAddress } from './sessions/return-address.ts';
import type { ShowSessions } from './sessions/show.ts';
import { createReleaseSession } from './settlement/release-session.ts';
import { createSlots } from './slots/admin.ts';
import { createReencryptSecrets } from './slots/reseal-credentials.ts';
import { createTestSlot } from './slots/test-connection.ts';
import { createSummarizeUsage } from './usage/days.ts';
import { createUsage } from './usage/queries.ts';
import { createRecheck } from './verification/recheck.ts';
import type { wireCallbacks } from './wire-callbacks.ts';
import type { wireRefunds } from './wire-refunds.ts';
import type { wireSweep } from './wire-sweep.ts';
import type { Verification } from './wire-verification.ts';

type Parts = Verification &
  Awaited<ReturnType<typeof wireCallbacks>> &
  ReturnType<typeof wireSweep> &
  Pick<ReturnType<typeof wireRefunds>, 'syncRefunds'> & { readonly showSessions: ShowSessions };

export type PaymentServices = {
  readonly services: readonly ServiceEntry[];
  readonly createSession: ReturnType<typeof createCreateSession>;
  readonly sessions: ReturnType<typeof createSessions>;
};

export function wireServices(context: PaymentContext, parts: Parts): PaymentServices {
  const { db, pool, clock, config, sales, paymentMetrics: metrics } = context;
  const { gatewayAddress, providerTimeoutMs: busyWaitMs } = config;
  const sessions = createSessions(db);
  const createSession = createCreateSession({
    pool,
    clock,
    sales,
    metrics,
    busyWaitMs,
    gatewayAddress,
    ...parts,
  });
  const queries = { sessions, callbacks: createCallbacks({ db, driverOf }) };
  const services = [
    serve(CallbackService, {
      receiveCallback: parts.receiveCallback.receive,
      getReturnAddress: createGetReturnAddress(db),
    }),
    serve(PaymentService, wirePaymentService(context, parts, { ...queries, createSession })),
    serve(PaymentAdminService, wireAdminService(context, parts, queries)),
  ];
  return { services, createSession, sessions };
}

type Queries = {
  readonly sessions: ReturnType<typeof createSessions>;
  readonly callbacks: ReturnType<typeof createCallbacks>;
};

function wirePaymentService(
  { pool, clock, config, sales }: PaymentContext,
  parts: Parts,
  queries: Queries & Pick<PaymentServices, 'createSession'>,
) {
  return createPaymentService({
    ...queries,
    sales,
    showSessions: parts.showSessions,
    recheck: createRecheck({ pool, clock, busyWaitMs: config.providerTimeoutMs, ...parts }),
    events: parts.events,
  });
}

function wireAdminService(context: PaymentContext, parts: Parts, queries: Queries) {
  const { db, pool, clock, logger, sealer, otherSecrets, config } = context;
  const slots = createSlots({ db, sealer, clock, driverOf });
  return createPaymentAdminService({
    ...queries,
    showSessions: parts.showSessions,
    drivers: DRIVERS,
    replayCallback: createReplayCallback({ pool, clock, ...parts, ...queries }),
    slots,
    testSlot: createTestSlot({ slots, providers: parts.providers }),
    feeRules: createFeeRules({ db, clock, driverOf }),
    previewFees: createFeePreview({ db, clock }),
    backtestFees: createFeeBacktest({ db, driverOf }),
    fitFeeRule: createFitFeeRule({ db, driverOf }),
    auditFees: createAuditFees(db),
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
