// How much is under way, and whether requests are shed because it is too much.
import type { Problem } from './problem.ts';
import { overloaded } from './rpc-problem.ts';

export type Load = {
  /** Takes on a request, until `leave`. @throws Problem `overloaded` if too much is under way already */
  enter(): void;
  leave(): void;
  /** Requests under way. */
  readonly inFlight: number;
  /** Looks at each error answer: the core sheds requests too. */
  note(problem: Problem): void;
  /** Whether a request was shed just now: a load balancer better asks another hub. */
  isShedding(): boolean;
};

/** Longer than load balancers wait between two looks at readiness would help nobody. */
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
