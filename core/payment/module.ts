// The payment module: callbacks, sessions, verification, settlement, slots, fees and usage.
import { backlogMetrics } from './backlog-metrics.ts';
import { checkNoneUnprocessed } from './callbacks/prune-guard.ts';
import { erasePayments, lockSessionsOfCustomer } from './erase-personal-data.ts';
import { createPaymentReaders } from './event-objects.ts';
import { createPaymentMetrics } from './metrics.ts';
import type { PaymentModuleOptions } from './module-options.ts';
import { DRIVERS } from './providers/registry.ts';
import { createShowSessions } from './sessions/session-messages.ts';
import { createFindSlot } from './slots/scope-lookup.ts';
import { wireCallbacks } from './wire-callbacks.ts';
import { wireRefunds } from './wire-refunds.ts';
import { wireServices } from './wire-services.ts';
import { wireSweep } from './wire-sweep.ts';
import { wireVerification } from './wire-verification.ts';

export type PaymentModule = Awaited<ReturnType<typeof createPaymentModule>>;

/** A callback in the journal gets a job within a second, and a worker starts it within two others. */
const STRAY_GRACE_MS = 3_000;

export async function createPaymentModule(options: PaymentModuleOptions) {
  const { config, db, clock, logger, metrics } = options;
  const { pool } = db;
  const gateways = DRIVERS.map(({ gateway }) => gateway);
  const paymentMetrics = createPaymentMetrics(metrics, gateways);
  await using undo = new AsyncDisposableStack();
  // An execute call and the query after it, with a margin. A session of a hub that is killed is blocked for
  // so long.
  const leaseMs = 2 * config.providerTimeoutMs + 5_000;
  const inlineMs = config.callbackBudgetMs + 1_000;
  const { retryDelayMs } = config;
  const shared = { pool, clock, logger, metrics: paymentMetrics, retryDelayMs };
  const context = { ...options, shared, undo, leaseMs, inlineMs };

  const verification = wireVerification(context);
  const { refundServices, ...refunds } = wireRefunds(context, verification);
  const callbacks = await wireCallbacks(context, { ...verification, ...refunds });
  const sweep = wireSweep(context, verification);
  const showSessions = createShowSessions(options.sales);
  const services = wireServices(context, {
    ...verification,
    ...refunds,
    ...callbacks,
    ...sweep,
    showSessions,
  });

  const resources = undo.move();
  return {
    ...services,
    services: [...services.services, ...refundServices],
    findSlot: createFindSlot(pool),
    pruneGuard: { check: checkNoneUnprocessed },
    lockSessionsOfCustomer,
    erasePersonalData: erasePayments,
    eventReaders: createPaymentReaders(db, showSessions),
    figures: backlogMetrics({
      clock,
      strayAfterMs: inlineMs + STRAY_GRACE_MS,
      onSlot: paymentMetrics.addSlot,
    }),
    /** Finishes the work in progress and stops the workers. */
    close: () => resources.disposeAsync(),
  };
}
