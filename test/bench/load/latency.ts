// Summarizes latencies over all rounds.
import { median } from '../median.ts';

export type Latency = {
  /** Scheduled requests per second. In a closed loop: the throughput of the first round. */
  readonly rate: number;
  /** The number of measured latencies in all rounds. */
  readonly requests: number;
  /** Milliseconds, the median of the rounds. */
  readonly p50: number;
  readonly p99: number;
  /** Milliseconds, over the requests of all rounds, since one round has too few. */
  readonly p999: number;
  /** The values of each round. */
  readonly rounds: { readonly p50: readonly number[]; readonly p99: readonly number[] };
};

/**
 * The share of the requests at the start of a load that latencies exclude. PostgreSQL plans statements again in this
 * time, because the tables have been analyzed.
 */
const EXCLUDED_SHARE = 1 / 5;

/** In ascending order, without the excluded ones. `latencies` are in the order of the requests, and are reordered. */
export function countedLatencies(latencies: Float64Array): Float64Array {
  return latencies.subarray(Math.floor(latencies.length * EXCLUDED_SHARE)).sort();
}

type Measured = {
  readonly rate: number;
  /** Milliseconds of each request that counts, in ascending order. */
  readonly latencies: Float64Array;
};

export function latencyOf(measured: readonly Measured[]): Latency {
  const all = Float64Array.from(measured.flatMap(({ latencies }) => [...latencies])).sort();
  const rounds = {
    p50: measured.map(({ latencies }) => quantile(latencies, 0.5)),
    p99: measured.map(({ latencies }) => quantile(latencies, 0.99)),
  };
  return {
    rate: measured[0]?.rate ?? 0,
    requests: all.length,
    p50: median(rounds.p50),
    p99: median(rounds.p99),
    p999: quantile(all, 0.999),
    rounds,
  };
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
