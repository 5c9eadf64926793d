// How much is measured: for figures to publish, for a quick look, and to see that the benchmark itself works.

export type Plan = {
  readonly name: 'full' | 'quick' | 'smoke';
  /** Each measures every side once; what is reported is the median, and how far apart they were. */
  readonly rounds: number;
  readonly connections: readonly number[];
  /** Of each measurement. */
  readonly seconds: number;
  /** Of each side for each case: so long at most, if its rate does not stop rising before that. */
  readonly warmUp: { readonly windowSeconds: number; readonly windowsAtMost: number };
  readonly latencyRounds: number;
  readonly latencySeconds: number;
  /** Of each profile: hub and peer, each case, at one connection and at the main number of them. */
  readonly profileSeconds: number;
  readonly licenses: number;
  /** How long a measurement waits, at most, until the servers use next to no CPU time. */
  readonly calmWithinMs: number;
};

export const CALM_WITHIN_MS = 5_000;

export const PLANS: Readonly<Record<Plan['name'], Plan>> = {
  full: {
    name: 'full',
    rounds: 4,
    connections: [1, 32, 256],
    seconds: 0.8,
    warmUp: { windowSeconds: 1, windowsAtMost: 6 },
    latencyRounds: 4,
    latencySeconds: 1,
    profileSeconds: 0.8,
    licenses: 10_000,
    calmWithinMs: CALM_WITHIN_MS,
  },
  quick: {
    name: 'quick',
    rounds: 1,
    connections: [1, 32, 256],
    seconds: 0.3,
    warmUp: { windowSeconds: 0.4, windowsAtMost: 2 },
    latencyRounds: 1,
    latencySeconds: 0.4,
    profileSeconds: 0.2,
    licenses: 2_000,
    calmWithinMs: CALM_WITHIN_MS,
  },
  smoke: {
    name: 'smoke',
    rounds: 1,
    connections: [1],
    seconds: 0.1,
    warmUp: { windowSeconds: 0.1, windowsAtMost: 1 },
    latencyRounds: 1,
    latencySeconds: 0.2,
    profileSeconds: 0.1,
    licenses: 200,
    calmWithinMs: 0,
  },
};

/** The connections by which the marks go, and the cost of a request. */
export function mainConnections({ connections }: Plan): number {
  return connections.includes(32) ? 32 : Math.max(...connections);
}
