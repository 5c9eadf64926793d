// Runs work one after another, so that only the one in turn holds a connection of the pool.
import { overloaded } from './errors.ts';

/** Work that may wait for its turn. */
const MAX_WAITING = 500;

export type InTurn = <T>(work: () => Promise<T>) => Promise<T>;

/** Work runs in the order of the calls. Rejects with HubError `overloaded` if too much waits. */
export function createTurns(): InTurn {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    if (waiting >= MAX_WAITING) throw overloaded();
    waiting++;
    const mine = last.then(work).finally(() => {
      waiting--;
    });
    last = mine.catch(() => {}); // the caller handles it
    return mine;
  };
}
