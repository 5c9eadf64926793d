// Bounds wrong guesses at license keys and fingerprints, beyond the rate of a client.
import { hash } from 'node:crypto';
import { RateLimiterRes } from 'rate-limiter-flexible';
import type { Count } from '../metrics/counter.ts';
import type { Counts, Limiter } from './counts.ts';
import { Problem, type ProblemCode } from './problem.ts';
import type { Answer } from './routes.ts';
import { toProblem } from './rpc-problem.ts';

export type Guess = {
  /** As `clientKey` names it. */
  readonly client: string;
  /** What is guessed at, as `keySubject` or `licenseSubject` names it. */
  readonly subject: string;
};

export type GuessLimit = {
  /**
   * Answers by `ask`, and counts its refusals. Once there were too many, nobody learns any more whether a guess was
   * right. Throws Problem `rate_limited` then, before asking or instead of a read's answer.
   */
  guard(guess: Guess, kind: 'read' | 'write', ask: () => Promise<Answer>): Promise<Answer>;
};

export type GuessLimitOptions = {
  /** Wrong guesses a client has in ten minutes; five times as many for all strangers together. */
  readonly wrongGuesses: number;
  readonly counts: Counts;
  readonly refusals: Count;
};

/** By these refusals a guess turns out wrong. */
const WRONG: ReadonlySet<ProblemCode> = new Set([
  'license_key_unknown',
  'seat_limit_reached',
  'seat_unknown',
  'seat_not_active',
]);
const WINDOW_SECONDS = 600;
const STRANGERS_FACTOR = 5;
/** A client that was right once is told apart from strangers for so long. */
const KNOWN_SECONDS = 30 * 24 * 60 * 60;

/**
 * Strangers share what is left of a license: an attacker cannot get around that with more addresses. A client that
 * was right about it before has an allowance of its own, so that strangers cannot lock it out.
 */
export function createGuessLimit({ wrongGuesses, counts, refusals }: GuessLimitOptions): GuessLimit {
  const window = { seconds: WINDOW_SECONDS };
  const few = counts.limiter({ ...window, name: 'guess', points: wrongGuesses });
  const many = counts.limiter({ ...window, name: 'guesses', points: wrongGuesses * STRANGERS_FACTOR });
  /** Until when a key is out of guesses, as far as this process has seen. Asking Redis is left to wrong guesses. */
  const spent = new Map<string, number>();
  /** When the last of them has guesses again. */
  let allSpentUntil = 0;

  const isAnySpent = (): boolean => spent.size > 0 && performance.now() < allSpentUntil;
  const secondsLeft = (keys: readonly string[]): number => {
    const now = performance.now();
    return Math.max(0, ...keys.map((key) => ((spent.get(key) ?? 0) - now) / 1_000));
  };
  const count = async (limiter: Limiter, key: string): Promise<void> => {
    const note = ({ remainingPoints, msBeforeNext }: RateLimiterRes): void => {
      if (remainingPoints > 0) return;
      if (spent.size >= MAX_SPENT) spent.clear(); // the counts go on; only what refuses without them is lost
      const until = performance.now() + msBeforeNext;
      spent.set(key, until);
      allSpentUntil = Math.max(allSpentUntil, until);
    };
    try {
      note(await limiter.consume(key));
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused;
      note(refused);
      throw tooManyGuesses(refused.msBeforeNext / 1_000);
    }
  };
  const countWrong = async ({ client, subject }: Guess, code: ProblemCode): Promise<void> => {
    const pair = `${client}/${subject}`;
    if (await counts.remembers(pair)) return count(many, `known/${pair}`);
    await Promise.all([count(few, pair), count(many, subject)]);
    if (code === 'license_key_unknown') await count(few, client);
  };

  return {
    async guard(guess, kind, ask) {
      const { client, subject } = guess;
      const pair = `${client}/${subject}`;
      const shared = [pair, subject, client];
      const own = `known/${pair}`;
      const refuseIfSpent = async (): Promise<void> => {
        const ofStrangers = secondsLeft(shared);
        const isStranger = ofStrangers > 0 && !(await counts.remembers(pair));
        const seconds = isStranger ? ofStrangers : secondsLeft([own]);
        if (seconds === 0) return;
        refusals.add();
        throw tooManyGuesses(seconds);
      };

      if (isAnySpent()) await refuseIfSpent();
      try {
        const answer = await ask();
        // Guesses at the same time count as if one came after the other.
        if (kind === 'read' && isAnySpent()) await refuseIfSpent();
        counts.remember(pair, KNOWN_SECONDS);
        return answer;
      } catch (failure) {
        const { code } = toProblem(failure);
        if (!WRONG.has(code)) throw failure;
        await refuseIfSpent();
        await countWrong(guess, code).catch((refused: unknown) => {
          refusals.add();
          throw refused;
        });
        throw failure;
      }
    },
  };
}

/** Forgives at least what the hub forgives, so that a key is one subject however it is typed. Nothing of it is kept. */
export function keySubject(licenseKey: string): string {
  const bare = licenseKey.replace(/[^0-9A-Za-z]/g, '').toUpperCase();
  return hash('sha256', `key:${bare.replaceAll('O', '0').replace(/[IL]/g, '1')}`, 'base64url');
}

export function licenseSubject(licenseId: string): string {
  return hash('sha256', `license:${licenseId}`, 'base64url');
}

const MAX_SPENT = 50_000;

function tooManyGuesses(forSeconds: number): Problem {
  const seconds = Math.max(1, Math.ceil(forSeconds));
  return new Problem('rate_limited', `Too many wrong guesses. Try again in ${seconds} s.`, {
    headers: ['Retry-After', String(seconds)],
  });
}
