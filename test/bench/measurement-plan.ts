// The plans of the benchmark: full for published figures, quick for a first look, and smoke to test the
// benchmark.

/**
 * The loads with a fixed number of requests a second, the same for each side. halfPeak: half of the peer's throughput at
 * 32 connections, over 32 connections. withPauses: 50 a second over one connection, as from one caller.
 */
export const PACED_LOADS = ['halfPeak', 'withPauses'] as const;
export type PacedLoad = (typeof PACED_LOADS)[number];
export const RATE_WITH_PAUSES = 50;

export type Plan = {
  readonly name: 'full' | 'quick' | 'smoke';
  /** Each round measures every side once. The report shows the median and the range. */
  readonly rounds: number;
  readonly connections: readonly number[];
  /** Duration of each measurement. With one connection it is longer, because few requests are sent. */
  readonly seconds: number;
  readonly secondsAtOne: number;
  /** Limits of the warm-up for each side and case. It ends earlier if the rate stops rising. */
  readonly warmUp: { readonly windowSeconds: number; readonly windowsAtMost: number };
  /**
   * Duration of a second warm-up with one connection, before its rounds. At its rate V8 takes longer to compile the
   * last hot code, which a p99 shows and a throughput does not.
   */
  readonly warmUpSecondsAtOne: number;
  /** The same before the rounds with more connections, whose batches are larger than before. */
  readonly warmUpSecondsAtMany: number;
  /** Rounds for each load of `PACED_LOADS`. */
  readonly latencyRounds: number;
  readonly latencySeconds: Readonly<Record<PacedLoad, number>>;
  /**
   * Duration of each profile. Hub and peer are profiled in each case, at one connection and at
   * `mainConnections`.
   */
  readonly profileSeconds: number;
  readonly licenses: number;
  /** The maximum time to wait before a measurement until the servers are almost idle. */
  readonly idleTimeoutMs: number;
};

export const IDLE_TIMEOUT_MS = 5_000;

export const PLANS: Readonly<Record<Plan['name'], Plan>> = {
  full: {
    name: 'full',
    rounds: 4,
    connections: [1, 32, 256],
    seconds: 0.8,
    secondsAtOne: 2,
    warmUp: { windowSeconds: 1, windowsAtMost: 6 },
    warmUpSecondsAtOne: 10,
    warmUpSecondsAtMany: 3,
    latencyRounds: 4,
    latencySeconds: { halfPeak: 2.5, withPauses: 8 },
    profileSeconds: 0.8,
    licenses: 10_000,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
  },
  quick: {
    name: 'quick',
    rounds: 1,
    connections: [1, 32, 256],
    seconds: 0.3,
    secondsAtOne: 0.3,
    warmUp: { windowSeconds: 0.4, windowsAtMost: 2 },
    warmUpSecondsAtOne: 0.4,
    warmUpSecondsAtMany: 0.4,
    latencyRounds: 1,
    latencySeconds: { halfPeak: 0.4, withPauses: 1 },
    profileSeconds: 0.2,
    licenses: 2_000,
    idleTimeoutMs: IDLE_TIMEOUT_MS,
  },
  smoke: {
    name: 'smoke',
    rounds: 1,
    connections: [1],
    seconds: 0.1,
    secondsAtOne: 0.1,
    warmUp: { windowSeconds: 0.1, windowsAtMost: 1 },
    warmUpSecondsAtOne: 0.1,
    warmUpSecondsAtMany: 0.1,
    latencyRounds: 1,
    latencySeconds: { halfPeak: 0.2, withPauses: 0.2 },
    profileSeconds: 0.1,
    licenses: 200,
    idleTimeoutMs: 0,
  },
};

/** The number of connections that the targets and the cost of a request refer to. */
export function mainConnections({ connections }: Plan): number {
  return connections.includes(32) ? 32 : Math.max(...connections);
}
