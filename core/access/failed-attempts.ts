// Limits failed authentication per address, without blocking callers whose credential was valid before.
import { createHash } from 'node:crypto';
import { Code, ConnectError } from '@connectrpc/connect';

/** Counts attempts by address, like the limiters of rate-limiter-flexible. */
export type AttemptLimiter = {
  /** Consumes one attempt; rejects with `Remaining` if none is left. */
  consume(address: string): Promise<Remaining>;
  /** Null if none was consumed. */
  get(address: string): Promise<Remaining | null>;
};

type Remaining = { readonly remainingPoints: number; readonly msBeforeNext: number };

/**
 * Runs `find` and returns its result; undefined counts as a failed attempt of the address. A credential that
 * was found before is looked up even if the address has no attempts left, so that one client cannot lock out
 * others behind the same address.
 *
 * @throws ConnectError ResourceExhausted, with Retry-After, if the address has no attempts left
 */
export type LimitFailedAttempts = <T>(
  address: string,
  credential: string,
  find: () => Promise<T | undefined>,
) => Promise<T | undefined>;

export type FailedAttemptLimitOptions = {
  readonly limiter: AttemptLimiter;
  readonly onError: (error: unknown) => void;
  /** Called for each attempt that is refused without looking up the credential. */
  readonly onRefusal: () => void;
};

/**
 * Credentials that were found before. Beyond this number the oldest are forgotten, and the limit applies to
 * them again.
 */
const MAX_REMEMBERED = 10_000;

export function createFailedAttemptLimit(options: FailedAttemptLimitOptions): LimitFailedAttempts {
  const { limiter, onError, onRefusal } = options;
  const valid = new Set<string>();
  const remember = (hash: string): void => {
    valid.delete(hash);
    valid.add(hash);
    const [oldest] = valid;
    if (valid.size > MAX_REMEMBERED && oldest !== undefined) valid.delete(oldest);
  };

  return async (address, credential, find) => {
    const hash = createHash('sha256').update(credential).digest('base64');
    if (!valid.has(hash)) {
      const remaining = await query(() => limiter.get(address), onError);
      if (remaining !== null && remaining.remainingPoints <= 0) {
        onRefusal();
        throw tooManyAttempts(remaining);
      }
    }
    const found = await find();
    if (found !== undefined) {
      remember(hash);
      return found;
    }
    valid.delete(hash);
    await query(() => limiter.consume(address), onError);
    return undefined;
  };
}

/** Null if the limiter fails: attempts are allowed then, because tokens cannot be guessed. */
async function query(
  request: () => Promise<Remaining | null>,
  onError: (error: unknown) => void,
): Promise<Remaining | null> {
  try {
    return await request();
  } catch (error) {
    if (error instanceof Error) onError(error);
    return null; // no attempt was left: the next one is refused
  }
}

function tooManyAttempts({ msBeforeNext }: Remaining): ConnectError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new ConnectError(
    `too many attempts with wrong tokens from this address; try again in ${seconds} s`,
    Code.ResourceExhausted,
    { 'Retry-After': String(seconds) },
  );
}
