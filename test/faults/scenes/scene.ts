// An environment for faults: hubs under load, the servers that they depend on, and the faults of those
// servers.
import type { Cluster } from './cluster.ts';

export type Scene<S extends Stage> = {
  /** The requirements of the machine. */
  readonly needs: string;
  /** The faults, in the order in which they can run. */
  readonly faults: readonly Fault<S>[];
  /** Resolves with undefined on a machine that does not meet the requirements. */
  readonly open: () => Promise<S | undefined>;
};

export type Stage = {
  readonly cluster: Cluster;
  readonly close: () => Promise<void>;
};

export type Fault<S> = {
  readonly name: string;
  /** A description of the fault for the table. */
  readonly what: string;
  readonly outage: Outage;
  /** Breaks something, leaves it broken for the given time, and repairs it. */
  readonly strike: (stage: S, ms: number) => Promise<void>;
  /** Repairs the rest under load after requests succeed again. */
  readonly repair?: (stage: S) => Promise<void>;
};

/**
 * `none`: no visible effect. `busy`: the machine may be overloaded and refuse requests. `database`: refusals,
 * and no hub is ready. `hub`: connections are cut as well.
 */
export type Outage = 'none' | 'busy' | 'database' | 'hub';
