// Runs tasks one at a time, so that waiting tasks hold no connection of the pool.
import { overloaded } from './errors.ts';

/** Maximum number of waiting tasks. */
const MAX_WAITING = 500;

/** Runs tasks in the order of the calls. Rejects with HubError `overloaded` if too many wait. */
export type SerialQueue = <T>(task: () => Promise<T>) => Promise<T>;

export function createSerialQueue(): SerialQueue {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  return async (task) => {
    if (waiting >= MAX_WAITING) throw overloaded();
    waiting++;
    const result = last.then(task).finally(() => {
      waiting--;
    });
    last = result.catch(() => {}); // the caller handles it
    return result;
  };
}
