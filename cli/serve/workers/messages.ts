// The messages between a hub's worker processes and their parent process.
import type { Family } from '../../../lib/metrics/family.ts';
import type { Addresses } from '../hub-file.ts';

export type FromWorker =
  /** The worker serves these addresses. */
  | { readonly ready: Addresses }
  /** Why the worker ends. */
  | { readonly failed: string }
  /** Requests the metrics of all workers, and contains those of this one. */
  | { readonly gather: number; readonly own: readonly Family[] }
  /** The metrics of this worker, in reply to `measure`. */
  | { readonly measured: readonly Family[]; readonly for: number };

export type ToWorker =
  /** hubctl can find the hub. */
  | 'announced'
  /** Stop being ready. */
  | 'drain'
  /** Finish the requests in progress and exit. */
  | 'stop'
  /** Reload the certificates. */
  | 'reload'
  /** Send your metrics. */
  | { readonly measure: number }
  /** The metrics of all workers, in reply to `gather`. */
  | { readonly gathered: readonly Family[]; readonly for: number };

/** Tells a worker its number, from 1. */
export const WORKER_VARIABLE = 'HUBCTL_WORKER';

/** Undefined in a process that is no worker. */
export function workerNumber(): number | undefined {
  const text = process.env[WORKER_VARIABLE];
  return text === undefined ? undefined : Number(text);
}
