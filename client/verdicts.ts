// The verdict of this moment, and who is told when it changes.
import type { LicenseError } from './errors.ts';
import type { FreeLimits } from './free-limits.ts';
import { parseInstant, writeInstant } from './instant.ts';
import { judge } from './judge.ts';
import type { Keeper } from './keeper.ts';
import type { BackOff } from './schedule.ts';
import type { Timekeeper } from './timekeeper.ts';
import type { Problem, Verdict } from './verdict.ts';

export type Verdicts = {
  current(): Verdict;
  check(): Promise<Verdict>;
  /** The verdict; who listens hears of it if it is another one. */
  publish(): Verdict;
  subscribe(listener: (verdict: Verdict) => void): () => void;
  /** Saves the time until which a license was in use, for the next run. */
  saveTime(): Promise<void>;
};

export type VerdictsOptions = {
  readonly keeper: Keeper;
  readonly timekeeper: Timekeeper;
  readonly freeLimits: FreeLimits;
  readonly backOff: BackOff;
  readonly onError: (error: unknown) => void;
};

/** How often the time is saved while a license is in use. */
const SAVE_TIME_MS = 5 * 60 * 1000;

export function createVerdicts({
  keeper,
  timekeeper,
  freeLimits,
  backOff,
  onError,
}: VerdictsOptions): Verdicts {
  const listeners = new Set<(verdict: Verdict) => void>();
  let published: string | undefined;

  const current = (): Verdict => {
    const time = timekeeper.read();
    const problem = describe(keeper.problem ?? backOff.problem);
    const verdict = judge(keeper.held, { time, freeLimits: freeLimits.limits, problem });
    // A time at which nothing was granted is not remembered: a clock that was far ahead once locks nobody out.
    if (verdict.licensed) timekeeper.note(time.now);
    return verdict;
  };

  const publish = (): Verdict => {
    const verdict = current();
    const text = JSON.stringify({ ...verdict, problem: verdict.problem?.code });
    const isNew = published !== undefined && published !== text;
    published = text;
    for (const listener of isNew ? listeners : []) {
      try {
        const done: unknown = listener(verdict);
        if (done instanceof Promise) done.catch(onError); // of an async function
      } catch (error) {
        onError(error);
      }
    }
    return verdict;
  };

  const saveTimeAfter = async (ms: number): Promise<void> => {
    const { now } = timekeeper.read();
    const { held } = keeper;
    const saved = held.kind === 'license' ? parseInstant(held.record.seenAt) : undefined;
    if (!current().licensed || saved === undefined || now < saved + ms) return;
    const seenAt = writeInstant(now);
    await keeper.change((found) => (found.kind === 'license' ? { ...found.record, seenAt } : undefined));
  };

  return {
    current,
    publish,
    saveTime: () => saveTimeAfter(1),
    async check() {
      await keeper.look();
      await saveTimeAfter(SAVE_TIME_MS);
      return publish();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

function describe(error: LicenseError | undefined): Problem | undefined {
  return error && { code: error.code, message: error.message, isRetryable: error.isRetryable };
}
