// Limits how many verifications of one slot a hub runs at the same time.
import { ProviderUnavailable } from '../providers/driver.ts';

export type ProviderConcurrency = {
  /** Runs `call` when a place is free. @throws ProviderUnavailable at once if too many calls wait */
  run<T>(slot: string, call: () => Promise<T>): Promise<T>;
  load(slot: string): { readonly running: number; readonly waiting: number };
};

/** Calls that may wait, for each that may run. */
const WAITING_PER_PLACE = 16;

/** `limit`: calls of one slot that run at the same time. `onRejected` gets the name of the slot. */
export function createProviderConcurrency(
  limit: number,
  onRejected: (slot: string) => void,
): ProviderConcurrency {
  const slots = new Map<string, { running: number; readonly waiting: (() => void)[] }>();
  return {
    async run(name, call) {
      const slot = slots.get(name) ?? { running: 0, waiting: [] };
      slots.set(name, slot);
      if (slot.running < limit) slot.running += 1;
      else if (slot.waiting.length >= limit * WAITING_PER_PLACE) {
        onRejected(name);
        throw new ProviderUnavailable('too many other calls to this provider are waiting');
      } else await new Promise<void>((resolve) => slot.waiting.push(resolve));
      try {
        return await call();
      } finally {
        // The next call takes over the place, so the count stays.
        const next = slot.waiting.shift();
        if (next !== undefined) next();
        else if (--slot.running === 0) slots.delete(name);
      }
    },
    load(name) {
      const slot = slots.get(name);
      return { running: slot?.running ?? 0, waiting: slot?.waiting.length ?? 0 };
    },
  };
}
