// The messages between a hub's worker processes and their parent process.
import type { Family } from '../../../lib/metrics/family.ts';
import type { Addresses } from '../hub-file.ts';

/**
 * From a worker: it serves these addresses; it ends, and why; it asks for metrics; it sends its own metrics.
 */
export type FromWorker =
  | { readonly ready: Addresses }
  | { readonly failed: string }
  | { readonly gather: number; readonly own: readonly Family[] }
  | { readonly measured: readonly Family[]; readonly for: number };

/**
 * To a worker, in this order: hubctl can find the hub; stop being ready; finish the requests in progress and
 * exit; reload the certificates; send your metrics; the metrics of all workers.
 */
export type ToWorker =
  | 'announced'
  | 'drain'
  | 'stop'
  | 'reload'
  | { readonly measure: number }
  | { readonly gathered: readonly Family[]; readonly for: number };

/** Tells a worker its number, from 1. */
export const WORKER_VARIABLE = 'HUBCTL_WORKER';

/** Undefined in a process that is no worker. */
export function workerNumber(): number | undefined {
  const text = process.env[WORKER_VARIABLE];
  return text === undefined ? undefined : Number(text);
}
