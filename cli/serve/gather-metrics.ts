// A worker's side of the metrics of all workers: asks the parent process for them, and sends its own.
import type { Family } from '../../lib/metrics/family.ts';
import type { FromWorker, ToWorker } from './workers/messages.ts';

/** Longer than the parent waits for workers that do not reply. */
const REPLY_TIMEOUT_MS = 3_000;

export function createWorkerGather(send: (message: FromWorker) => void) {
  const awaited = new Map<number, (families: readonly Family[]) => void>();
  let lastRequest = 0;
  const worker = {
    /** What this process measures, once there is something. */
    measure: async (): Promise<readonly Family[]> => [],

    // Never returns the metrics of this worker alone: they would look like a restart.
    gather: (own: Family[]): Promise<Family[]> =>
      new Promise((resolve, reject) => {
        const request = ++lastRequest;
        const timer = setTimeout(() => {
          awaited.delete(request);
          reject(new Error(`the workers did not send their metrics within ${REPLY_TIMEOUT_MS} ms`));
        }, REPLY_TIMEOUT_MS);
        awaited.set(request, (families) => {
          clearTimeout(timer);
          awaited.delete(request);
          resolve([...families]);
        });
        send({ gather: request, own });
      }),

    /** Handles a message to this worker. Returns whether it is about metrics. */
    receive(message: ToWorker): boolean {
      if (typeof message === 'string') return false;
      if ('gathered' in message) awaited.get(message.for)?.(message.gathered);
      else {
        worker.measure().then(
          (measured) => send({ measured, for: message.measure }),
          () => {}, // the parent treats it as stuck
        );
      }
      return true;
    },
  };
  return worker;
}
