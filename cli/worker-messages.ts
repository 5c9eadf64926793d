// What a hub's worker processes and the process that started them say to each other.
import type { Family } from '../metrics/family.ts';
import type { Addresses } from './hub-file.ts';

/**
 * Of a worker: it serves these addresses, or ends, and why; it is asked for metrics and has measured this itself; this is
 * what it was asked for.
 */
export type FromWorker =
  | { readonly ready: Addresses }
  | { readonly failed: string }
  | { readonly gather: number; readonly own: readonly Family[] }
  | { readonly measured: readonly Family[]; readonly for: number };

/**
 * Messages to a worker, in this order: hubctl can find the hub; stop being ready; finish the requests under way and
 * exit; read the certificates again; send your metrics; these are the metrics of all workers.
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

/** Undefined in a process that was not started as a worker. */
export function workerNumber(): number | undefined {
  const text = process.env[WORKER_VARIABLE];
  return text === undefined ? undefined : Number(text);
}
