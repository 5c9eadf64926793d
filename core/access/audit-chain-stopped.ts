// Why no entry can be linked: what the chain depends on is gone, and a hub that made it anew would hide that.
import { LockHeld } from '../storage/hub-lock.ts';

export class ChainStopped extends Error {
  override readonly name = 'ChainStopped';
  readonly problem: 'key_missing' | 'head_altered';

  constructor(problem: ChainStopped['problem'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** For what goes on with the links there are. @throws whatever else it is given */
export function ignoreStopped(error: unknown): void {
  if (!(error instanceof ChainStopped || error instanceof LockHeld)) throw error;
}
