// Error for a chain that cannot grow: its key is missing, or its recorded head is missing or altered.
// Creating them again would hide the manipulation.
import { LockHeld } from '../storage/hub-lock.ts';

export class ChainStopped extends Error {
  override readonly name = 'ChainStopped';
  readonly problem: 'key_missing' | 'head_altered';

  constructor(problem: ChainStopped['problem'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** For callers that can continue with the existing links. @throws any other error */
export function ignoreChainStopped(error: unknown): void {
  if (!(error instanceof ChainStopped || error instanceof LockHeld)) throw error;
}
