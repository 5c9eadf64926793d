// How much is measured: for figures to publish, for a quick look, and to see that the benchmark itself works.

export type Plan = {
  readonly name: 'full' | 'quick' | 'smoke';
  /** Each measures every side once; what is reported is the median. */
  readonly rounds: number;
  readonly connections: readonly number[];
  /** Of each measurement. */
  readonly seconds: number;
  /** Of each side for each case: so long at most, if its rate does not stop rising before that. */
  readonly warmUp: { readonly windowSeconds: number; readonly windowsAtMost: number };
  readonly latencyRounds: number;
  readonly latencySeconds: number;
  readonly licenses: number;
};

export const PLANS: Readonly<Record<Plan['name'], Plan>> = {
  full: {
    name: 'full',
    rounds: 3,
    connections: [1, 32, 256],
    seconds: 2,
    warmUp: { windowSeconds: 1, windowsAtMost: 8 },
    latencyRounds: 3,
    latencySeconds: 2,
    licenses: 10_000,
  },
  quick: {
    name: 'quick',
    rounds: 1,
    connections: [1, 32, 256],
    seconds: 0.5,
    warmUp: { windowSeconds: 0.5, windowsAtMost: 6 },
    latencyRounds: 1,
    latencySeconds: 0.5,
    licenses: 5_000,
  },
  smoke: {
    name: 'smoke',
    rounds: 1,
    connections: [1, 4],
    seconds: 0.1,
    warmUp: { windowSeconds: 0.1, windowsAtMost: 1 },
    latencyRounds: 1,
    latencySeconds: 0.2,
    licenses: 500,
  },
};

/** The connections by which the marks go, and the cost of a request. */
export function mainConnections({ connections }: Plan): number {
  return connections.includes(32) ? 32 : Math.max(...connections);
}
