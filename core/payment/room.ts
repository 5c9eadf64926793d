// The payment room, put together: what it needs in, its services out.
import type { Logger } from 'pino';
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import { type ServiceEntry, serve } from '../service-entry.ts';
import type { Database } from '../storage/database.ts';
import type { SealedColumn } from '../storage/reseal.ts';
import type { Sealer } from '../storage/sealing.ts';
import { createAskProvider } from './ask-provider.ts';
import { createCallbackService } from './callback-service.ts';
import { createCallbacks } from './callbacks.ts';
import { createCreateSession } from './create-session.ts';
import { createFeeBacktest } from './fee-backtest.ts';
import { createFeePreview } from './fee-preview.ts';
import { createFeeRules } from './fee-versions.ts';
import { createJobs } from './jobs.ts';
import { createJournal } from './journal.ts';
import { createPaymentAdminService } from './payment-admin-service.ts';
import { createPaymentService } from './payment-service.ts';
import { createProcessCallback, TryAgainLater } from './process-callback.ts';
import { createProviderHttp } from './provider-http.ts';
import { createReceiveCallback } from './receive-callback.ts';
import { createRecheck } from './recheck.ts';
import { driverOf } from './registry.ts';
import { createReencryptSecrets } from './reseal.ts';
import { createSessionEvents } from './session-events.ts';
import { readSession } from './session-facts.ts';
import { createSessions } from './sessions.ts';
import { createRecordSteps, createSettle } from './settle.ts';
import { createSlotAccess } from './slot-access.ts';
import { createSlots } from './slots.ts';
import { startSweep } from './sweep.ts';
import { createTestSlot } from './test-slot.ts';
import { createTokenCache } from './token-cache.ts';
import { createUsage } from './usage.ts';
import { createVerificationLease } from './verification-lease.ts';

export type PaymentConfig = {
  /** The base address the outside world knows the gateway by; undefined as long as nobody has said it. */
  readonly publicUrl: () => string | undefined;
  /** Milliseconds until a provider is answered whatever has come of its callback. */
  readonly callbackBudgetMs: number;
  /** Milliseconds a provider has to answer one question. */
  readonly providerTimeoutMs: number;
  readonly retryDelayMs: number;
  /** Milliseconds after its creation at which the provider is asked about a session that is not paid. */
  readonly sweepAfterMs: readonly number[];
};

export type PaymentRoomOptions = {
  readonly config: PaymentConfig;
  readonly db: Database;
  readonly databaseUrl: string;
  readonly sealer: Sealer;
  /** What the other rooms have sealed, to be re-sealed together with this room's. */
  readonly otherSecrets: readonly SealedColumn[];
  readonly clock: Clock;
  readonly logger: Logger;
};

export type PaymentRoom = {
  readonly services: readonly ServiceEntry[];
  /** Finishes what is under way and stops the workers. */
  close(): Promise<void>;
};

const DAY_MS = 24 * 60 * 60 * 1000;
const RETRY_DELAY_MAX_MS = 60 * 60 * 1000;
const CLOSE_GRACE_MS = 5_000;

export async function createPaymentRoom(options: PaymentRoomOptions): Promise<PaymentRoom> {
  const { config, db, databaseUrl, sealer, otherSecrets, clock, logger } = options;
  const { pool } = db;
  await using undo = new AsyncDisposableStack();

  const events = createSessionEvents({
    pool,
    databaseUrl,
    onError: (error) => logger.warn({ reason: error.message }, 'status changes are not announced'),
  });
  undo.defer(() => events.close());
  const slotAccess = createSlotAccess({
    pool,
    sealer,
    driverOf,
    openHttp: (slot) => createProviderHttp({ ...slot, timeoutMs: config.providerTimeoutMs }),
    openTokens: (slotId) => createTokenCache({ pool, sealer, clock, slotId }),
  });
  undo.defer(() => slotAccess.close());

  // An execute and the query after it. The sessions of a hub that is killed wait for so long.
  const leaseMs = 2 * config.providerTimeoutMs + 5_000;
  const lease = createVerificationLease({ pool, leaseMs });
  const jobs = await createJobs({
    pool,
    startAfterMs: config.callbackBudgetMs + 1_000,
    expireAfterMs: leaseMs + 5_000,
    retryDelayMs: config.retryDelayMs,
    retryDelayMaxMs: RETRY_DELAY_MAX_MS,
    onError: (err) => logger.warn({ err }, 'the job queue is in trouble'),
  });
  undo.defer(() => jobs.stop(CLOSE_GRACE_MS));

  const settle = createSettle({ pool, clock, onChange: (sessionId) => events.announce(sessionId) });
  const askProvider = createAskProvider({
    pool,
    lease,
    providers: slotAccess,
    settle,
    recordSteps: createRecordSteps(pool),
  });
  const journal = createJournal({ pool, jobs, clock });
  const process = createProcessCallback({
    pool,
    journal,
    askProvider,
    settle,
    clock,
    giveUpAfterMs: DAY_MS,
    busyWaitMs: config.callbackBudgetMs,
  });
  const receiveCallback = createReceiveCallback({
    journal,
    jobs,
    process,
    logger,
    budgetMs: config.callbackBudgetMs,
  });
  undo.defer(() => receiveCallback.settled());
  await jobs.work(async (callbackId) => {
    try {
      await process(callbackId);
    } catch (error) {
      // The queue keeps the error to itself.
      if (!(error instanceof TryAgainLater)) {
        logger.error(
          { callbackId: formatId('cb', callbackId), err: error },
          'callback could not be dealt with',
        );
      }
      throw error;
    }
  });

  const schedule = { afterMs: config.sweepAfterMs, untilMs: DAY_MS };
  const sweep = startSweep({
    pool,
    askProvider,
    clock,
    logger,
    schedule,
    everyMs: sweepInterval(config),
    claimMs: leaseMs,
  });
  undo.defer(() => sweep.stop());

  const sessions = createSessions(db);
  const payments = createPaymentService({
    createSession: createCreateSession({
      pool,
      clock,
      lease,
      providers: slotAccess,
      schedule,
      busyWaitMs: config.providerTimeoutMs,
      publicUrl: config.publicUrl,
    }),
    sessions,
    recheck: createRecheck(
      askProvider,
      async (id) => (await readSession(pool, id)) !== undefined,
      config.providerTimeoutMs,
    ),
    events,
  });
  const slots = createSlots({ db, sealer, clock, driverOf });
  const admin = createPaymentAdminService({
    slots,
    testSlot: createTestSlot({ slots, providers: slotAccess }),
    feeRules: createFeeRules({ db, clock, driverOf }),
    previewFees: createFeePreview({ db, clock }),
    backtestFees: createFeeBacktest({ db, driverOf }),
    callbacks: createCallbacks({ db, jobs, process, clock }),
    usage: createUsage(db),
    reencryptSecrets: createReencryptSecrets({ pool, sealer, clock, otherSecrets }),
  });
  const resources = undo.move();
  return {
    services: [
      serve(CallbackService, createCallbackService(receiveCallback)),
      serve(PaymentService, payments),
      serve(PaymentAdminService, admin),
    ],
    close: () => resources.disposeAsync(),
  };
}

/** Often enough for the first check to be about in time. */
function sweepInterval({ sweepAfterMs }: PaymentConfig): number {
  const [first = DAY_MS] = sweepAfterMs;
  return Math.min(Math.max(first / 4, 250), 10_000);
}
