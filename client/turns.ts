// Lets tasks run one after the other, in the order in which they come.
import { LicenseError } from './errors.ts';
import type { Signal } from './signal.ts';

/** Rejects with LicenseError `aborted` if the signal comes before the task's turn; after that it is the task's own matter. */
export type Turns = <T>(task: () => Promise<T>, signal?: Signal) => Promise<T>;

export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (task, signal) =>
    new Promise((resolve, reject) => {
      const giveUp = (): void => {
        reject(new LicenseError('aborted', 'the call was given up', { cause: signal?.reason }));
      };
      if (signal?.aborted) return giveUp();
      signal?.addEventListener('abort', giveUp, { once: true });
      last = last.then(async () => {
        signal?.removeEventListener('abort', giveUp);
        if (signal?.aborted) return;
        await task().then(resolve, reject);
      });
    });
}
