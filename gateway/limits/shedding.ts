// Limits the requests in flight, and sheds those beyond.
import type { Problem } from '../problem.ts';
import { overloaded } from '../rpc-problem.ts';

export type Load = {
  /** Counts a request until `leave`. @throws Problem `overloaded` if the limit is reached */
  enter(): void;
  leave(): void;
  readonly inFlight: number;
  /** Notes each error answer: the core sheds requests too. */
  note(problem: Problem): void;
  /** Whether a request was shed recently, so that load balancers should prefer another hub. */
  isShedding(): boolean;
};

/** About the interval of readiness probes. */
const SHEDDING_MS = 2_000;

export function createLoad(maxInFlight: number): Load {
  let inFlight = 0;
  let shedAt = Number.NEGATIVE_INFINITY;
  return {
    enter() {
      if (inFlight >= maxInFlight) throw overloaded();
      inFlight += 1;
    },
    leave() {
      inFlight -= 1;
    },
    get inFlight() {
      return inFlight;
    },
    note({ code }) {
      if (code === 'overloaded') shedAt = performance.now();
    },
    isShedding: () => performance.now() - shedAt < SHEDDING_MS,
  };
}
