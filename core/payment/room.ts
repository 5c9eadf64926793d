// The payment room, put together: what it needs in, its services out.

import type { PoolClient } from 'pg';
import type { Logger } from 'pino';
import { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { createTasks } from '../../metrics/tasks.ts';
import { chores } from '../../tracing/channels.ts';
import type { FindOwner } from '../access/scope.ts';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import { type ServiceEntry, serve } from '../service-entry.ts';
import type { Database } from '../storage/database.ts';
import type { DatabaseAddress } from '../storage/database-address.ts';
import type { Figures } from '../storage/database-figures.ts';
import type { SealedColumn } from '../storage/reseal.ts';
import type { Sealer } from '../storage/sealing.ts';
import { createAskProvider } from './ask-provider.ts';
import { createCallbackService } from './callback-service.ts';
import type { GatewayAddress } from './callback-url.ts';
import { createCallbacks } from './callbacks.ts';
import { createCountCallback } from './count-callbacks.ts';
import { createCreateSession } from './create-session.ts';
import { createDuplicates } from './duplicates.ts';
import { createFeeBacktest } from './fee-backtest.ts';
import { createFeePreview } from './fee-preview.ts';
import { createFeeRules } from './fee-versions.ts';
import { createFindDuplicates } from './find-duplicates.ts';
import { createFindSession } from './find-session.ts';
import { createJobs } from './jobs.ts';
import { createJournal } from './journal.ts';
import { createNoteIgnored } from './note-ignored.ts';
import { createFinishOtherCheckout } from './other-payments.ts';
import { createFindSlot } from './owners.ts';
import { createPaymentAdminService } from './payment-admin-service.ts';
import { paymentFigures } from './payment-figures.ts';
import { createPaymentMeter } from './payment-meter.ts';
import { createPaymentService } from './payment-service.ts';
import { createProcessCallback } from './process-callback.ts';
import { createProviderHttp } from './provider-http.ts';
import { checkNothingWaits } from './prune-guard.ts';
import { createQuestionGate } from './question-gate.ts';
import { createReceiveCallback } from './receive-callback.ts';
import { createRecheck } from './recheck.ts';
import { DRIVERS, driverOf } from './registry.ts';
import { createReleaseSession } from './release-session.ts';
import { createReencryptSecrets } from './reseal.ts';
import { createSessionEvents } from './session-events.ts';
import { createSessions } from './sessions.ts';
import { createRecordSteps, createSettle } from './settle.ts';
import { createSlotAccess } from './slot-access.ts';
import { createSlots } from './slots.ts';
import { startStrays } from './stray-callbacks.ts';
import { startSweep } from './sweep.ts';
import { createSweepDuplicates } from './sweep-duplicates.ts';
import { createTestSlot } from './test-slot.ts';
import { createTokenCache } from './token-cache.ts';
import { createUsage } from './usage.ts';
import { createSummarizeUsage } from './usage-days.ts';
import { createVerificationLease } from './verification-lease.ts';
import { createWaitingCallbacks } from './waiting-callbacks.ts';

export type PaymentConfig = {
  readonly gatewayAddress: GatewayAddress;
  /** Milliseconds until a provider is answered whatever has come of its callback. */
  readonly callbackBudgetMs: number;
  /** Milliseconds a provider has to answer one question. */
  readonly providerTimeoutMs: number;
  /** Callbacks of one session that the journal keeps in full; the rest is counted. */
  readonly sessionCallbacks: number;
  /** Questions to the provider of one slot at the same time; the rest wait. */
  readonly providerQuestions: number;
  readonly retryDelayMs: number;
  /** Milliseconds after its creation at which the provider is asked about a session that is not paid. */
  readonly sweepAfterMs: readonly number[];
};

export type PaymentRoomOptions = {
  readonly config: PaymentConfig;
  readonly db: Database;
  readonly address: DatabaseAddress;
  readonly sealer: Sealer;
  /** What the other rooms have sealed, to be re-sealed together with this room's. */
  readonly otherSecrets: readonly SealedColumn[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tasks: ReturnType<typeof createTasks>;
  /** Ends the questions to providers that are under way: what they were to find out is asked again later. */
  readonly ending: AbortSignal;
};

export type PaymentRoom = {
  readonly services: readonly ServiceEntry[];
  readonly findSlot: Pick<FindOwner, 'slot' | 'chargeSession' | 'callback' | 'duplicatePayment' | 'feeRule'>;
  /** Keeps months that are not dealt with from being pruned. */
  readonly pruneGuard: { check(client: PoolClient, floor: string): Promise<void> };
  readonly figures: Figures;
  /** Finishes what is under way and stops the workers. */
  close(): Promise<void>;
};

const DAY_MS = 24 * 60 * 60 * 1000;
const RETRY_DELAY_MAX_MS = 60 * 60 * 1000;
/** More would only wait for each other, for connections and for the provider. */
const MAX_INLINE = 256;
const CLOSE_GRACE_MS = 5_000;
/** A callback that is found in the journal has a job within a second, and that is done in another. */
const STRAY_GRACE_MS = 2_000;

export async function createPaymentRoom(options: PaymentRoomOptions): Promise<PaymentRoom> {
  const { config, db, address, sealer, otherSecrets, clock, logger, metrics, tasks, ending } = options;
  const { pool } = db;
  const meter = createPaymentMeter(
    metrics,
    DRIVERS.map(({ gateway }) => gateway),
  );
  await using undo = new AsyncDisposableStack();

  const events = createSessionEvents({
    pool,
    address,
    onError: (error) => logger.warn({ reason: error.message }, 'status changes are not announced'),
  });
  undo.defer(() => events.close());
  const slotAccess = createSlotAccess({
    pool,
    sealer,
    clock,
    driverOf,
    openHttp: (slot) => createProviderHttp({ ...slot, timeoutMs: config.providerTimeoutMs, signal: ending }),
    openTokens: (slotId) => createTokenCache({ pool, sealer, clock, slotId, signal: ending }),
  });
  undo.defer(() => slotAccess.close());

  // An execute and the query after it. The sessions of a hub that is killed wait for so long.
  const leaseMs = 2 * config.providerTimeoutMs + 5_000;
  const lease = createVerificationLease({ pool, leaseMs });
  const inlineMs = config.callbackBudgetMs + 1_000;
  const jobs = await createJobs({
    pool,
    schema: db.schema,
    startAfterMs: inlineMs,
    expireAfterMs: leaseMs + 5_000,
    retryDelayMs: config.retryDelayMs,
    retryDelayMaxMs: RETRY_DELAY_MAX_MS,
    onError: (err) => logger.warn({ err }, 'the job queue is in trouble'),
  });
  undo.defer(() => jobs.stop(CLOSE_GRACE_MS));

  const settle = createSettle({
    pool,
    clock,
    meter,
    logger,
    onChange: (sessionId) => events.announce(sessionId),
  });
  const recordSteps = createRecordSteps(pool);
  const waiting = createWaitingCallbacks({
    pool,
    meter,
    clock,
    logger,
    giveUpAfterMs: DAY_MS,
    retryDelayMs: config.retryDelayMs,
    retryDelayMaxMs: RETRY_DELAY_MAX_MS,
  });
  const findSession = createFindSession(pool);
  const gate = createQuestionGate(config.providerQuestions, meter.notAsked);
  const askProvider = createAskProvider({
    findSession,
    lease,
    gate,
    providers: slotAccess,
    settle,
    recordSteps,
    waiting,
    meter,
  });
  const count = createCountCallback({ pool, clock, logger });
  const limit = config.sessionCallbacks;
  const journal = createJournal({ pool, clock, leaseMs, lease, findSession, limit, count });
  const process = createProcessCallback({
    findSession,
    journal,
    askProvider,
    settle,
    finishOtherCheckout: createFinishOtherCheckout({ pool, clock }),
    waiting,
    meter,
    clock,
    giveUpAfterMs: DAY_MS,
    busyWaitMs: config.callbackBudgetMs,
  });
  const receiveCallback = createReceiveCallback({
    journal,
    noteIgnored: createNoteIgnored({ pool, clock, limit, count }),
    process,
    meter,
    logger,
    budgetMs: config.callbackBudgetMs,
    maxInline: MAX_INLINE,
  });
  undo.defer(() => receiveCallback.settled());
  const doJob = async (callbackId: string): Promise<void> => {
    try {
      await process.byId(callbackId, 'job');
    } catch (error) {
      // The queue keeps the error to itself.
      logger.error(
        { callbackId: formatId('cb', callbackId), err: error },
        'callback could not be dealt with',
      );
      throw error;
    }
  };
  await jobs.work((callbackId) =>
    chores.tracePromise(
      doJob,
      { name: 'callback job', about: () => formatId('cb', callbackId) },
      undefined,
      callbackId,
    ),
  );

  const strays = startStrays({ pool, jobs, clock, logger, task: tasks.of('strays'), afterMs: inlineMs });
  undo.defer(() => strays.stop());

  const findDuplicates = createFindDuplicates({
    pool,
    clock,
    lease,
    gate,
    providers: slotAccess,
    meter,
    logger,
  });
  const schedule = { afterMs: config.sweepAfterMs, untilMs: DAY_MS };
  const sweep = startSweep({
    pool,
    askProvider,
    sweepDuplicates: createSweepDuplicates({
      pool,
      clock,
      logger,
      meter,
      findDuplicates,
      retryDelayMs: config.retryDelayMs,
      retryDelayMaxMs: RETRY_DELAY_MAX_MS,
      giveUpAfterMs: DAY_MS,
    }),
    clock,
    logger,
    meter,
    task: tasks.of('sweep'),
    schedule,
    // The other places are for whoever brings a callback.
    atOnce: Math.ceil(config.providerQuestions / 2),
    everyMs: sweepInterval(config),
    claimMs: leaseMs,
  });
  undo.defer(() => sweep.stop());

  const sessions = createSessions(db);
  const callbacks = createCallbacks({ db, jobs, process, clock, driverOf });
  const payments = createPaymentService({
    createSession: createCreateSession({
      pool,
      clock,
      lease,
      providers: slotAccess,
      schedule,
      busyWaitMs: config.providerTimeoutMs,
      settle,
      recordSteps,
      meter,
      gatewayAddress: config.gatewayAddress,
    }),
    sessions,
    callbacks,
    recheck: createRecheck({
      pool,
      askProvider,
      findDuplicates,
      clock,
      busyWaitMs: config.providerTimeoutMs,
    }),
    events,
  });
  const slots = createSlots({ db, sealer, clock, driverOf });
  const admin = createPaymentAdminService({
    drivers: DRIVERS,
    slots,
    testSlot: createTestSlot({ slots, providers: slotAccess }),
    feeRules: createFeeRules({ db, clock, driverOf }),
    previewFees: createFeePreview({ db, clock }),
    backtestFees: createFeeBacktest({ db, driverOf }),
    callbacks,
    sessions,
    releaseSession: createReleaseSession({
      pool,
      askProvider,
      clock,
      logger,
      busyWaitMs: config.providerTimeoutMs,
    }),
    duplicates: createDuplicates({ db, clock }),
    usage: createUsage(db),
    summarizeUsage: createSummarizeUsage(db),
    reencryptSecrets: createReencryptSecrets({ pool, sealer, clock, otherSecrets }),
  });
  metrics.gauge(
    {
      name: 'hub_callbacks_under_way',
      help: 'Callbacks that are dealt with while their senders wait, or just after.',
    },
    () => receiveCallback.underWay,
  );
  metrics.gauge(
    {
      name: 'hub_leases_held',
      help: 'Sessions about which this hub alone may ask, or make a checkout, just now.',
    },
    () => lease.held,
  );
  metrics.gauge(
    {
      name: 'hub_provider_questions',
      help: 'Questions to the provider of a slot: those under way, and those that wait for them.',
    },
    () =>
      Array.from(meter.slots()).flatMap((slot) => {
        const { underWay, waiting } = gate.load(slot);
        return [
          { labels: { slot, state: 'under_way' }, value: underWay },
          { labels: { slot, state: 'waiting' }, value: waiting },
        ];
      }),
  );
  const resources = undo.move();
  return {
    services: [
      serve(CallbackService, createCallbackService(receiveCallback)),
      serve(PaymentService, payments),
      serve(PaymentAdminService, admin),
    ],
    findSlot: createFindSlot(pool),
    pruneGuard: { check: checkNothingWaits },
    figures: paymentFigures({ clock, strayAfterMs: inlineMs + STRAY_GRACE_MS, onSlot: meter.addSlot }),
    close: () => resources.disposeAsync(),
  };
}

/** Often enough for the first check, and for what waits for a retry, to be about in time. */
function sweepInterval({ sweepAfterMs }: PaymentConfig): number {
  const [first = DAY_MS] = sweepAfterMs;
  return Math.min(Math.max(first / 4, 250), 1_000);
}
