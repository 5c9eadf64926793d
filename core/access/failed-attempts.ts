// Refuses addresses from which too many wrong tokens came, without refusing those who are known to have a right one.
import { createHash } from 'node:crypto';
import { Code, ConnectError } from '@connectrpc/connect';

/** Counts by address; as those of rate-limiter-flexible. */
export type AttemptLimiter = {
  /** Takes one attempt; rejects with what is left when nothing is. */
  consume(address: string): Promise<Left>;
  /** Null if none was taken. */
  get(address: string): Promise<Left | null>;
};

type Left = { readonly remainingPoints: number; readonly msBeforeNext: number };

export type FailedAttempts = {
  /**
   * Runs `find` and passes its answer on; undefined counts as a failed attempt of the address. What has been found
   * here before is looked for whatever has failed, so that one bad client does not shut out those behind the same
   * address. It is looked for all the same: a revoked token is not let in for having been good.
   *
   * @throws ConnectError ResourceExhausted, with Retry-After, once the address has no attempts left
   */
  limit<T>(address: string, proof: string, find: () => Promise<T | undefined>): Promise<T | undefined>;
};

export type FailedAttemptsOptions = {
  readonly limiter: AttemptLimiter;
  readonly onError: (error: unknown) => void;
  /** Told of each attempt that is refused without a look at its token. */
  readonly onRefusal: () => void;
};

/** Proofs remembered; what is forgotten costs a look at the limiter. */
const REMEMBERED = 10_000;

export function createFailedAttempts({ limiter, onError, onRefusal }: FailedAttemptsOptions): FailedAttempts {
  const good = new Set<string>();
  const remember = (hash: string): void => {
    good.delete(hash);
    good.add(hash);
    const [oldest] = good;
    if (good.size > REMEMBERED && oldest !== undefined) good.delete(oldest);
  };

  return {
    async limit(address, proof, find) {
      const hash = createHash('sha256').update(proof).digest('base64');
      if (!good.has(hash)) refuseWithoutAttempts(await left(() => limiter.get(address), onError), onRefusal);
      const found = await find();
      if (found !== undefined) {
        remember(hash);
        return found;
      }
      good.delete(hash);
      await left(() => limiter.consume(address), onError);
      return undefined;
    },
  };
}

/** A limiter that fails lets everybody try: the tokens themselves cannot be guessed. */
async function left(
  ask: () => Promise<Left | null>,
  onError: (error: unknown) => void,
): Promise<Left | null> {
  try {
    return await ask();
  } catch (refusal) {
    if (refusal instanceof Error) onError(refusal);
    return null; // the attempt is over; the next one is refused
  }
}

function refuseWithoutAttempts(left: Left | null, onRefusal: () => void): void {
  if (left === null || left.remainingPoints > 0) return;
  onRefusal();
  const seconds = Math.max(1, Math.ceil(left.msBeforeNext / 1000));
  throw new ConnectError(
    `too many attempts with wrong tokens from this address; try again in ${seconds} s`,
    Code.ResourceExhausted,
    { 'Retry-After': String(seconds) },
  );
}
