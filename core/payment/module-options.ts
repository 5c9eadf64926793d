// The settings of the payment module, and the objects that its parts share.
import { DAY_MS } from '../clock.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import type { DatabaseAddress } from '../storage/connection/database-address.ts';
import type { SealedColumn } from '../storage/secrets/reseal.ts';
import type { Sales } from './order-interface.ts';
import type { RetryDelay } from './provider-retry-delay.ts';
import type { GatewayAddress } from './sessions/callback-url.ts';
import type { PaymentDependencies } from './shared-dependencies.ts';
import type { SweepSchedule } from './verification/sweep-schedule.ts';

export type PaymentConfig = {
  readonly gatewayAddress: GatewayAddress;
  /** Milliseconds until a callback is acknowledged, processed or not. */
  readonly callbackBudgetMs: number;
  /** Milliseconds that one provider call may take. */
  readonly providerTimeoutMs: number;
  /** Callbacks of one session that the journal keeps in full; the rest is counted. */
  readonly sessionCallbacks: number;
  /** Verifications of one slot that run at the same time; the rest wait. */
  readonly providerQuestions: number;
  readonly retryDelayMs: number;
  /** Ages in milliseconds at which the sweep verifies a session that is not paid. */
  readonly sweepAfterMs: readonly number[];
};

export type PaymentModuleOptions = ModuleDependencies & {
  readonly config: PaymentConfig;
  readonly address: DatabaseAddress;
  /** Sealed columns of other modules, which are re-sealed together with those of this one. */
  readonly otherSecrets: readonly SealedColumn[];
  readonly sales: Sales;
  /** Aborts the running provider calls when the hub stops; they are repeated later. */
  readonly ending: AbortSignal;
};

export type PaymentContext = PaymentModuleOptions & {
  readonly shared: PaymentDependencies & RetryDelay;
  /** Closes what the parts open, in reverse order. */
  readonly undo: AsyncDisposableStack;
  readonly leaseMs: number;
  /** Milliseconds that the request which brings a callback has to process it. */
  readonly inlineMs: number;
};

/** The checks of a session that nothing settles. */
export function sweepSchedule({ sweepAfterMs }: Pick<PaymentConfig, 'sweepAfterMs'>): SweepSchedule {
  return { afterMs: sweepAfterMs, untilMs: DAY_MS };
}
