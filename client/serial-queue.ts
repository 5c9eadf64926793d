// Runs tasks one at a time, in the order of their submission.

import type { Signal } from './abort-signal.ts';
import { LicenseError } from './errors.ts';

/** Rejects with LicenseError `aborted` if the signal is aborted before the task starts. A running task handles it. */
export type SerialQueue = <T>(task: () => Promise<T>, signal?: Signal) => Promise<T>;

export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve();
  return (task, signal) =>
    new Promise((resolve, reject) => {
      const giveUp = (): void => {
        reject(new LicenseError('aborted', 'the call was abandoned', { cause: signal?.reason }));
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
