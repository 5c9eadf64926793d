// Limits the requests to the license endpoints: those of each client in a minute, and all in flight.
import type { Logger } from 'pino';
import type { Counter } from 'prom-client';
import { RateLimiterRes } from 'rate-limiter-flexible';
import { throttle } from '../../lib/net/throttle-log.ts';
import { type Problem, rateLimited } from '../problem.ts';
import type { RateName } from '../routes/route.ts';
import { overloaded } from '../rpc-problem.ts';
import type { Limiter } from './limit-store.ts';

export type RateLimitOptions = {
  /** Name of the policy in the headers. */
  name: string;
  /** Requests a client may make in each 60 seconds. */
  ratePerMinute: number;
  limiter: Limiter;
  logger: Logger;
  refusals: Counter.Internal;
};

/** Headers (name, value, …) as in draft-ietf-httpapi-ratelimit-headers, and the refusal if nothing is left. */
type RateVerdict = { readonly headers: readonly string[]; readonly refusal?: Problem };

/** Creates the function that counts a request of a client (see `clientKey`). It never throws or rejects. */
export function createRateLimit(options: RateLimitOptions): RateLimit {
  const { name, ratePerMinute, limiter, logger, refusals } = options;
  const policy = `"${name}";q=${ratePerMinute};w=${WINDOW_SECONDS}`;
  const warn = throttle(QUIET_MS, (err: unknown) =>
    logger.warn({ err }, 'cannot count a request for the rate limit; it is admitted'),
  );

  const consume = createLocalWindows(limiter, ratePerMinute);

  const headersFor = ({ remainingPoints, msBeforeNext }: Left): string[] => {
    const seconds = secondsUntil(msBeforeNext);
    return ['RateLimit-Policy', policy, 'RateLimit', `"${name}";r=${remainingPoints};t=${seconds}`];
  };

  const granted = (left: Left): RateVerdict => ({ headers: headersFor(left) });
  const refused = (reason: unknown): RateVerdict => {
    if (reason instanceof RateLimiterRes) {
      refusals.inc();
      const refusal = rateLimited(TOO_MANY, secondsUntil(reason.msBeforeNext));
      return { headers: headersFor(reason), refusal };
    }
    // If the limiter fails, requests are admitted: serving customers matters more than counting them.
    warn(reason);
    return { headers: [] };
  };

  return (client) => {
    const left = consume(client);
    return left instanceof Promise ? left.then(granted, refused) : granted(left);
  };
}

/** Returns a Promise only if the limiter has to be asked. */
export type RateLimit = (client: string) => RateVerdict | Promise<RateVerdict>;

export type RateLimits = Readonly<Record<RateName, RateLimit>>;

export const WINDOW_SECONDS = 60;
const QUIET_MS = 60_000;
const TOO_MANY = 'Too many requests from this address.';

function secondsUntil(ms: number): number {
  // The clock may have been set back since the window began.
  return Math.min(Math.max(1, Math.ceil(ms / 1000)), WINDOW_SECONDS);
}

/** What a key has left in its window. */
export type Left = Pick<RateLimiterRes, 'remainingPoints' | 'msBeforeNext'>;

/** Takes one point of a key. Rejects with a RateLimiterRes if none is left. */
export type Consume = (key: string) => Left | Promise<Left>;

type Window = {
  /** Points left by the last reply of the limiter, received at `repliedAt`. */
  remaining: number;
  repliedAt: number;
  endsAt: number;
  /** Points taken here and not reported to the limiter yet. */
  unreported: number;
  /** Points in reports that the limiter has not replied to. */
  reporting: number;
  isReportScheduled: boolean;
};

/** At most this many windows are kept; then all are dropped, and the limiter counts. */
const MAX_WINDOWS = 50_000;
/** A reply of the limiter is trusted for this long. */
const FRESH_MS = 1_000;
/** Points are gathered for this long before they are reported. */
const REPORT_DELAY_MS = 100;

/**
 * The first request of a window waits for the limiter. Later ones take from the points it had left, and are reported
 * to it in the background. Once half of the `points` are used, each request waits for the limiter again. A single
 * gateway therefore counts exactly. Several together can exceed the limit by what they admit within
 * `REPORT_DELAY_MS`: each at most half of the `points`.
 */
export function createLocalWindows(limiter: Limiter, points: number): Consume {
  const windows = new Map<string, Window>();

  return (key) => {
    const window = windows.get(key);
    const left = window && takeLocally(window, points);
    if (window === undefined || left === undefined) return takeFromLimiter(key, window);
    if (!window.isReportScheduled) {
      window.isReportScheduled = true;
      setTimeout(report, REPORT_DELAY_MS, key, window);
    }
    return left;
  };

  /** Reports the points taken so far along with this one: the limiter must not grant them twice. */
  async function takeFromLimiter(key: string, window: Window | undefined): Promise<Left> {
    const reported = window === undefined ? 0 : startReport(window);
    const left = await limiter.consume(key, 1 + reported).finally(() => {
      if (window !== undefined) window.reporting -= reported;
    });
    const repliedAt = performance.now();
    const reply = { remaining: left.remainingPoints, repliedAt, endsAt: repliedAt + left.msBeforeNext };
    const known = windows.get(key);
    if (windows.size >= MAX_WINDOWS) windows.clear();
    if (known !== undefined) Object.assign(known, reply);
    else windows.set(key, { ...reply, unreported: 0, reporting: 0, isReportScheduled: false });
    return left;
  }

  async function report(key: string, window: Window): Promise<void> {
    window.isReportScheduled = false;
    const reported = startReport(window);
    if (reported === 0) return; // `takeFromLimiter` has reported them, or their window has ended
    try {
      window.remaining = (await limiter.consume(key, reported)).remainingPoints;
      window.repliedAt = performance.now();
    } catch (error) {
      // Other gateways took what was left; or the limiter failed, and the next request asks it.
      if (error instanceof RateLimiterRes) window.remaining = 0;
      else windows.delete(key);
    } finally {
      window.reporting -= reported;
    }
  }
}

/** Takes a point of the window; undefined if the limiter has to decide. */
function takeLocally(window: Window, points: number): Left | undefined {
  const now = performance.now();
  const msBeforeNext = window.endsAt - now;
  const remainingPoints = window.remaining - window.unreported - window.reporting - 1;
  const isFresh = now - window.repliedAt <= FRESH_MS;
  if (msBeforeNext <= 0 || remainingPoints < points / 2 || !isFresh) return undefined;
  window.unreported += 1;
  return { remainingPoints, msBeforeNext };
}

function startReport(window: Window): number {
  // Points of a window that has ended must not count in the next one.
  const points = performance.now() < window.endsAt ? window.unreported : 0;
  window.unreported = 0;
  window.reporting += points;
  return points;
}

export type LoadShedder = ReturnType<typeof createLoadShedder>;

/** About the interval of readiness probes. */
const SHEDDING_MS = 2_000;

/** Limits the requests in flight, and sheds those beyond. */
export function createLoadShedder(maxInFlight: number) {
  let inFlight = 0;
  let shedAt = Number.NEGATIVE_INFINITY;
  return {
    /** Counts a request until `leave`. @throws Problem `overloaded` if the limit is reached */
    enter(): void {
      if (inFlight >= maxInFlight) throw overloaded();
      inFlight += 1;
    },
    leave(): void {
      inFlight -= 1;
    },
    get inFlight() {
      return inFlight;
    },
    /** Call it with the problem of each error response, because the core sheds requests too. */
    recordProblem({ code }: Problem): void {
      if (code === 'overloaded') shedAt = performance.now();
    },
    /** Whether a request was shed recently, so that load balancers should prefer another hub. */
    isShedding: (): boolean => performance.now() - shedAt < SHEDDING_MS,
  };
}
