// The loop of a sweep: reserves what is due in all slots, and checks it.
//
// Each slot has its own places, so that a provider that hangs holds up only its own sessions. Within a slot
// what has been due the longest comes first.
import type { Task } from '../../../lib/metrics/tasks.ts';
import { repeatWhenWoken } from '../../repeated-task.ts';
import type { PaymentDependencies } from '../shared-dependencies.ts';
import type { Reservation } from './sweep-schedule.ts';

export type SweepTiming = {
  readonly task: Task;
  /** Sessions of one slot that this hub checks at the same time. */
  readonly concurrency: number;
  /** Milliseconds between two looks for due sessions. */
  readonly intervalMs: number;
  /** Milliseconds that a session is reserved for the hub that checks it. */
  readonly reservationMs: number;
};

export type SlotSweepOptions<R> = Pick<PaymentDependencies, 'clock' | 'logger'> &
  SweepTiming & {
    /** They run in this order. */
    readonly reserve: readonly ((reservation: Reservation) => Promise<readonly R[]>)[];
    /** Never rejects. The signal aborts when the sweep stops. */
    readonly check: (reserved: R, stopping: AbortSignal) => Promise<void>;
    /** Whether to look again at once when a full slot gets a free place: more of its sessions may be due. */
    readonly refillsAtOnce: boolean;
    readonly failureMessage: string;
  };

export type SlotSweep = {
  /** Starts no more checks, and waits for those that run. */
  stop(): Promise<void>;
};

export function startSlotSweep<R extends { readonly slotId: string }>(
  options: SlotSweepOptions<R>,
): SlotSweep {
  const { clock, logger, task, concurrency, intervalMs, reservationMs } = options;
  const checks = new Set<Promise<void>>();
  const running = new Map<string, number>();
  const stopping = new AbortController();

  const start = (reserved: R): void => {
    const { slotId } = reserved;
    running.set(slotId, (running.get(slotId) ?? 0) + 1);
    const check = options.check(reserved, stopping.signal).finally(() => {
      checks.delete(check);
      const left = (running.get(slotId) ?? 1) - 1;
      if (left === 0) running.delete(slotId);
      else running.set(slotId, left);
      if (options.refillsAtOnce && left === concurrency - 1) loop.wake();
    });
    checks.add(check);
  };

  const loop = repeatWhenWoken({
    everyMs: intervalMs,
    pass: async () => {
      const reservation = { now: clock(), durationMs: reservationMs, limit: concurrency, running };
      for (const reserve of options.reserve) (await reserve(reservation)).forEach(start);
    },
    task,
    logger,
    failureMessage: options.failureMessage,
  });

  return {
    async stop() {
      stopping.abort();
      await loop.stop();
      await Promise.all(checks);
    },
  };
}
