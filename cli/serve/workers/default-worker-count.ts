// The number of workers if the operator sets none.
import { availableParallelism } from 'node:os';

/** Two hubs with this many, as during an upgrade, fit into the 100 connections of a default PostgreSQL. */
const MOST = 4;

/**
 * One for every two processors, since PostgreSQL and the rest of the machine need the others. One without Redis: workers
 * would count requests and guesses each by itself.
 */
export function defaultWorkerCount(
  { redisUrl }: { readonly redisUrl?: unknown },
  processors = availableParallelism(),
): number {
  return redisUrl === undefined ? 1 : Math.min(MOST, Math.max(1, Math.floor(processors / 2)));
}
