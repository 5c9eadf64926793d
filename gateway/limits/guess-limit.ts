// Limits wrong guesses at license keys, fingerprints and claim tokens, beyond the rate limit of a client.
import { hash } from 'node:crypto';
import type { Counter } from 'prom-client';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { type Problem, type ProblemCode, rateLimited } from '../problem.ts';
import type { RouteResponse } from '../routes/route.ts';
import { toProblem } from '../rpc-problem.ts';
import { createBlocks, type Limiter, type LimitStore, type SharedKeys } from './limit-store.ts';

export type Guess = {
  /** The client's key, from `clientKey`. */
  readonly client: string;
  /** What is guessed at: a license, from `keySubject` or `licenseSubject`, or the claim tokens of all sessions. */
  readonly subject: string;
};

export type GuessLimit = {
  /**
   * Runs `ask` and counts its refusals. Once the guesses are used up, no response tells whether a guess was
   * right.
   * @throws Problem `rate_limited`, before `ask` runs or in place of the result of a read
   */
  guard(guess: Guess, kind: 'read' | 'write', ask: () => Promise<RouteResponse>): Promise<RouteResponse>;
};

export type GuessLimitOptions = {
  /** Wrong guesses per client in ten minutes. All unknown clients together have five times as many. */
  readonly wrongGuesses: number;
  readonly store: LimitStore;
  readonly refusals: Counter.Internal;
};

/** Problems that show that a guess was wrong. */
const WRONG: ReadonlySet<ProblemCode> = new Set([
  'license_key_unknown',
  'seat_limit_reached',
  'seat_unknown',
  'seat_not_active',
  'claim_invalid',
]);
const WINDOW_SECONDS = 600;
const UNKNOWN_CLIENTS_FACTOR = 5;
/** A client that guessed right is known for this long. */
const KNOWN_SECONDS = 30 * 24 * 60 * 60;

/**
 * Unknown clients share one allowance per license, so that more addresses do not help an attacker. A client
 * that guessed right before has its own allowance, so that unknown clients cannot lock it out.
 */
export function createGuessLimit({ wrongGuesses, store, refusals }: GuessLimitOptions): GuessLimit {
  const window = { seconds: WINDOW_SECONDS };
  const clientLimiter = store.limiter({ ...window, name: 'guess', points: wrongGuesses });
  const subjectLimiter = store.limiter({
    ...window,
    name: 'guesses',
    points: wrongGuesses * UNKNOWN_CLIENTS_FACTOR,
  });
  const blocks = createGuessBlocks();
  const known = createKnownClients(store.shared);

  const count = async (limiter: Limiter, key: string): Promise<void> => {
    try {
      blocks.record(key, await limiter.consume(key));
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      blocks.record(key, refused);
      throw tooManyGuesses(blocks.secondsLeft([key]));
    }
  };
  const countWrong = async ({ client, subject }: Guess, code: ProblemCode): Promise<void> => {
    const pair = `${client}/${subject}`;
    if (await known.has(pair)) return count(subjectLimiter, `known/${pair}`);
    await Promise.all([count(clientLimiter, pair), count(subjectLimiter, subject)]);
    if (code === 'license_key_unknown') await count(clientLimiter, client);
  };

  return {
    async guard(guess, kind, ask) {
      const { client, subject } = guess;
      const pair = `${client}/${subject}`;
      const shared = [pair, subject, client];
      const own = `known/${pair}`;
      const refuseIfBlocked = async (): Promise<void> => {
        const sharedSeconds = blocks.secondsLeft(shared);
        const isUnknown = sharedSeconds > 0 && !(await known.has(pair));
        const seconds = isUnknown ? sharedSeconds : blocks.secondsLeft([own]);
        if (seconds === 0) return;
        refusals.inc();
        throw tooManyGuesses(seconds);
      };

      if (blocks.isAny()) await refuseIfBlocked();
      try {
        const response = await ask();
        // Concurrent guesses are treated as consecutive ones.
        if (kind === 'read' && blocks.isAny()) await refuseIfBlocked();
        known.add(pair);
        return response;
      } catch (failure) {
        const { code } = toProblem(failure);
        if (!WRONG.has(code)) throw failure;
        await refuseIfBlocked();
        await countWrong(guess, code).catch((refused: unknown) => {
          refusals.inc();
          throw refused;
        });
        throw failure;
      }
    },
  };
}

/**
 * Normalizes at least as much as the hub does, so that all spellings of a key are one subject. Only the hash
 * is kept.
 */
export function keySubject(licenseKey: string): string {
  const bare = licenseKey.replace(/[^0-9A-Za-z]/g, '').toUpperCase();
  return hash('sha256', `key:${bare.replaceAll('O', '0').replace(/[IL]/g, '1')}`, 'base64url');
}

export function licenseSubject(licenseId: string): string {
  return hash('sha256', `license:${licenseId}`, 'base64url');
}

/**
 * Keeps the exhausted keys that this process has seen, so that only wrong guesses cost a call to Redis. While
 * there are none, a request looks up no key.
 */
function createGuessBlocks() {
  const blocks = createBlocks(WINDOW_SECONDS);
  let lastEndsAt = 0;
  return {
    isAny: (): boolean => performance.now() < lastEndsAt,
    /** Returns the seconds until the last block of `keys` ends; 0 if none is blocked. */
    secondsLeft: (keys: readonly string[]): number =>
      Math.max(...keys.map((key) => blocks.msLeft(key) / 1_000)),
    record(key: string, state: RateLimiterRes): void {
      blocks.record(key, state);
      lastEndsAt = Math.max(lastEndsAt, performance.now() + blocks.msLeft(key));
    },
  };
}

const MAX_KNOWN = 50_000;

function createKnownClients(shared: SharedKeys | undefined) {
  const clients = new Map<string, { readonly until: number; isStored: boolean }>();
  const isKnownHere = (pair: string): boolean => (clients.get(pair)?.until ?? 0) > performance.now();
  return {
    /**
     * Known in this process at once, and to other gateways soon after. If Redis is down, the next right guess stores
     * the client.
     */
    add(pair: string): void {
      if (isKnownHere(pair) && clients.get(pair)?.isStored) return;
      clients.delete(pair);
      const [oldest] = clients.keys();
      if (clients.size >= MAX_KNOWN && oldest !== undefined) clients.delete(oldest);
      // The local entry lives half as long, so that a client in use is written to Redis again before it expires.
      const client = { until: performance.now() + 500 * KNOWN_SECONDS, isStored: true };
      clients.set(pair, client);
      void shared?.remember(pair, KNOWN_SECONDS).then((isStored) => {
        client.isStored = isStored;
      });
    },
    has: async (pair: string): Promise<boolean> =>
      isKnownHere(pair) || ((await shared?.remembers(pair)) ?? false),
  };
}

function tooManyGuesses(seconds: number): Problem {
  return rateLimited('Too many wrong guesses.', seconds);
}
