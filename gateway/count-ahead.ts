// Counts a client's requests without making them wait for Redis, as long as it is known that some are left.
import { RateLimiterRes } from 'rate-limiter-flexible';
import type { Limiter } from './counts.ts';

/** What a key has left in its window. */
export type Left = Pick<RateLimiterRes, 'remainingPoints' | 'msBeforeNext'>;

/** Takes one point of a key; rejects as the limiter does when none is left. */
export type Consume = (key: string) => Left | Promise<Left>;

type Window = {
  /** As the limiter said last, */
  remaining: number;
  /** and when. */
  saidAt: number;
  endsAt: number;
  /** Points taken here that it has not been told of. */
  untold: number;
  /** Points that it is being told of. */
  telling: number;
  /** Whether it is about to be told. */
  isTold: boolean;
};

/** More keys than that at a time are counted without their help. */
const MAX_WINDOWS = 50_000;

/** For so long what the limiter said is believed. */
const FRESH_MS = 1_000;
/** For so long points are gathered before it is told of them. */
const GATHER_MS = 10;

/**
 * The first request of a window asks the limiter. Those after it take from what it said was left, and it is told of
 * them behind their answers, those of a few milliseconds together. The second half of the window's points is counted
 * by the limiter again. So one gateway counts exactly, and several for the same client can let through too many only of
 * what they get within those milliseconds.
 */
export function countAhead(limiter: Limiter, points: number): Consume {
  const windows = new Map<string, Window>();

  /** Tells of what was not told yet as well: otherwise it would count on points that are taken. */
  const ask = async (key: string, window?: Window): Promise<Left> => {
    const carried = window === undefined ? 0 : take(window);
    const left = await limiter.consume(key, 1 + carried).finally(() => {
      if (window !== undefined) window.telling -= carried;
    });
    const saidAt = performance.now();
    const said = { remaining: left.remainingPoints, saidAt, endsAt: saidAt + left.msBeforeNext };
    const known = windows.get(key);
    if (windows.size >= MAX_WINDOWS) windows.clear();
    if (known === undefined) windows.set(key, { ...said, untold: 0, telling: 0, isTold: false });
    else Object.assign(known, said);
    return left;
  };

  const tellSoon = (key: string, window: Window): void => {
    window.isTold = true;
    setTimeout(tell, GATHER_MS, key, window);
  };

  const tell = (key: string, window: Window): void => {
    window.isTold = false;
    const points = take(window);
    if (points === 0) return; // somebody has asked meanwhile
    limiter
      .consume(key, points)
      .then(
        ({ remainingPoints }) => {
          window.remaining = remainingPoints;
          window.saidAt = performance.now();
        },
        (refused: unknown) => {
          // Others have taken what was left; or it cannot be told, and the next request asks.
          if (refused instanceof RateLimiterRes) window.remaining = 0;
          else windows.delete(key);
        },
      )
      .finally(() => {
        window.telling -= points;
      });
  };

  return (key) => {
    const window = windows.get(key);
    if (window === undefined) return ask(key);
    const now = performance.now();
    const msBeforeNext = window.endsAt - now;
    const remainingPoints = window.remaining - window.untold - window.telling - 1;
    if (msBeforeNext <= 0 || remainingPoints < points / 2 || now - window.saidAt > FRESH_MS)
      return ask(key, window);
    window.untold += 1;
    if (!window.isTold) tellSoon(key, window);
    return { remainingPoints, msBeforeNext };
  };
}

/** The points that the limiter is to be told of from now on. */
function take(window: Window): number {
  const points = window.untold;
  window.untold = 0;
  window.telling += points;
  return points;
}
