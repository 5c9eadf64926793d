// How many questions a hub asks the provider of one slot at the same time, whatever the number of sessions.
import { ProviderUnavailable } from './provider.ts';

export type QuestionGate = {
  /** Runs `ask` when it is its turn. @throws ProviderUnavailable at once if too many wait already */
  pass<T>(slot: string, ask: () => Promise<T>): Promise<T>;
  /** Questions to the provider of a slot now. */
  load(slot: string): { readonly underWay: number; readonly waiting: number };
};

/** Questions that may wait for each that is under way. */
const WAITING_EACH = 16;

/** Slots go by their names. `onRefused` is told of a slot for which too many wait. */
export function createQuestionGate(atOnce: number, onRefused: (slot: string) => void): QuestionGate {
  const slots = new Map<string, { underWay: number; readonly waiting: (() => void)[] }>();
  return {
    async pass(name, ask) {
      const slot = slots.get(name) ?? { underWay: 0, waiting: [] };
      slots.set(name, slot);
      if (slot.underWay < atOnce) slot.underWay += 1;
      else if (slot.waiting.length >= atOnce * WAITING_EACH) {
        onRefused(name);
        throw new ProviderUnavailable('too many other questions to this provider wait');
      } else await new Promise<void>((resolve) => slot.waiting.push(resolve));
      try {
        return await ask();
      } finally {
        // Whoever waits takes the place over; the count stays.
        const next = slot.waiting.shift();
        if (next !== undefined) next();
        else if (--slot.underWay === 0) slots.delete(name);
      }
    },
    load(name) {
      const slot = slots.get(name);
      return { underWay: slot?.underWay ?? 0, waiting: slot?.waiting.length ?? 0 };
    },
  };
}
