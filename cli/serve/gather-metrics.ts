// A worker's side of the metrics of all workers: it asks the process that started it, and says what it has measured.
import type { Family } from '../../lib/metrics/family.ts';
import type { Gather } from '../../lib/metrics/metrics.ts';
import type { FromWorker, ToWorker } from './workers/messages.ts';

export type WorkerGather = {
  readonly gather: Gather;
  /** What is said to this worker; whether it was about metrics. */
  hear(message: ToWorker): boolean;
  /** What this process measures, once there is something. */
  measure: () => Promise<readonly Family[]>;
};

/** Longer than the other end waits for those that do not answer. */
const PATIENCE_MS = 3_000;

export function createWorkerGather(tell: (message: FromWorker) => void): WorkerGather {
  const awaited = new Map<number, (families: readonly Family[]) => void>();
  let questions = 0;
  const worker: WorkerGather = {
    measure: async () => [],

    // To tell the figures of one worker as those of all would look like a restart.
    gather: (own) =>
      new Promise((resolve, reject) => {
        const question = ++questions;
        const timer = setTimeout(() => {
          awaited.delete(question);
          reject(new Error(`the workers did not send their metrics within ${PATIENCE_MS} ms`));
        }, PATIENCE_MS);
        awaited.set(question, (families) => {
          clearTimeout(timer);
          awaited.delete(question);
          resolve([...families]);
        });
        tell({ gather: question, own });
      }),

    hear(message) {
      if (typeof message === 'string') return false;
      if ('gathered' in message) awaited.get(message.for)?.(message.gathered);
      else {
        worker.measure().then(
          (measured) => tell({ measured, for: message.measure }),
          () => {}, // the other end takes it for stuck
        );
      }
      return true;
    },
  };
  return worker;
}
