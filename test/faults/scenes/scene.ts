// An environment for faults: hubs under load, the servers that they depend on, and the faults of those.
import type { Cluster } from './cluster.ts';

export type Scene<S extends Stage> = {
  /** What a machine has to have for it. */
  readonly needs: string;
  /** In the order in which they may strike, one after the other. */
  readonly faults: readonly Fault<S>[];
  /** Undefined on a machine that lacks what it needs. */
  readonly open: () => Promise<S | undefined>;
};

export type Stage = {
  readonly cluster: Cluster;
  readonly close: () => Promise<void>;
};

export type Fault<S> = {
  readonly name: string;
  /** What goes wrong, for a table. */
  readonly what: string;
  readonly outage: Outage;
  /** Breaks something, leaves it broken for the given time, and repairs it. */
  readonly strike: (stage: S, ms: number) => Promise<void>;
  /** What is repaired once requests succeed again, while they go on. */
  readonly repair?: (stage: S) => Promise<void>;
};

/**
 * `none`: nobody may notice. `busy`: the machine may be too busy for all, which then is refused. `database`: refusals,
 * and no hub is ready. `hub`: connections are cut as well.
 */
export type Outage = 'none' | 'busy' | 'database' | 'hub';
