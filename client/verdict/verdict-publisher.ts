// Returns the current verdict and notifies listeners when it changes.
import type { LicenseError } from '../errors.ts';
import type { BackOff } from '../hub/check-schedule.ts';
import type { FreeLimits } from '../license/free-limits.ts';
import { formatRfc3339, parseRfc3339 } from '../license/rfc3339.ts';
import type { RecordCache } from '../state/record-cache.ts';
import type { TrustedTime } from '../state/trusted-time.ts';
import { computeVerdict } from './compute-verdict.ts';
import type { Problem, Verdict } from './verdict.ts';

export type VerdictPublisher = ReturnType<typeof createVerdictPublisher>;

export type VerdictPublisherOptions = {
  readonly recordCache: RecordCache;
  readonly trustedTime: TrustedTime;
  readonly freeLimits: FreeLimits;
  readonly backOff: BackOff;
  readonly onError: (error: unknown) => void;
};

/** How often the time is saved while a license is in use. */
const SAVE_TIME_MS = 5 * 60 * 1000;

export function createVerdictPublisher(options: VerdictPublisherOptions) {
  const { recordCache, trustedTime, freeLimits, backOff, onError } = options;
  const listeners = new Set<(verdict: Verdict) => void>();
  let published: string | undefined;

  const current = (): Verdict => {
    const time = trustedTime.read();
    const problem = describe(recordCache.problem ?? backOff.problem);
    const verdict = computeVerdict(recordCache.state, { time, freeLimits: freeLimits.limits, problem });
    // Remember only times with a valid license, so that a clock that was far ahead locks nobody out.
    if (verdict.licensed) trustedTime.advanceTo(time.now);
    return verdict;
  };

  /** Returns the verdict, and calls the listeners if it has changed. */
  const publish = (): Verdict => {
    const verdict = current();
    const text = JSON.stringify({ ...verdict, problem: verdict.problem?.code });
    const isNew = published !== undefined && published !== text;
    published = text;
    for (const listener of isNew ? listeners : []) {
      try {
        const done: unknown = listener(verdict);
        if (done instanceof Promise) done.catch(onError); // an async listener
      } catch (error) {
        onError(error);
      }
    }
    return verdict;
  };

  const saveTimeAfter = async (ms: number): Promise<void> => {
    const { now } = trustedTime.read();
    const { state } = recordCache;
    const saved = state.kind === 'license' ? parseRfc3339(state.record.seenAt) : undefined;
    if (!current().licensed || saved === undefined || now < saved + ms) return;
    const seenAt = formatRfc3339(now);
    await recordCache.update((found) => (found.kind === 'license' ? { ...found.record, seenAt } : undefined));
  };

  return {
    current,
    publish,
    /** Saves the time at which a license was last in use, for the next run. */
    saveTime: () => saveTimeAfter(1),
    async check(): Promise<Verdict> {
      await recordCache.reload();
      await saveTimeAfter(SAVE_TIME_MS);
      return publish();
    },
    subscribe(listener: (verdict: Verdict) => void): () => void {
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
