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
 * To a worker: finish what is under way and end, or read the certificates again; say what it has measured; this is what
 * all of them have.
 */
export type ToWorker =
  | 'stop'
  | 'reload'
  | { readonly measure: number }
  | { readonly gathered: readonly Family[]; readonly for: number };

/** Tells a worker its number, from 1. */
export const WORKER_VARIABLE = 'HUBCTL_WORKER';
