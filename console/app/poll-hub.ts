// Polls the hub to keep a page current: less often after failures, not while the tab is hidden.
import { createContext } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { createState, useValue } from './observable-state.ts';

export const isPaused = createState(false);

/** The time of the last answer, and whether the latest poll failed. */
export const lastAnswer = createState<{ readonly at: Date | undefined; readonly fails: boolean }>({
  at: undefined,
  fails: false,
});

export type Live<T> = {
  /** The latest answer; it remains while polls fail. */
  readonly data: T | undefined;
  /** The error of the latest poll. */
  readonly error: unknown;
  /** Polls at once. */
  readonly refresh: () => Promise<void>;
};

/** Loads the page again: forms do so after they changed something. */
export const PageRefresh = createContext<Live<unknown>['refresh']>(async () => {});

const SLOWEST_MS = 60_000;

/**
 * @param key identifies the query; a different key discards the data
 * @param everyMs pause between an answer and the next poll, in milliseconds
 */
export function useLive<T>(key: string, everyMs: number, load: (signal: AbortSignal) => Promise<T>): Live<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown }>({ key });
  const latest = useRef(load);
  latest.current = load;
  const poll = useRef<() => Promise<void>>(async () => {});
  const paused = useValue(isPaused);

  useEffect(() => {
    let isEnded = false;
    let current = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    const schedulePoll = (): void => {
      clearTimeout(timer);
      if (isEnded || isPaused.get() || document.hidden) return;
      const pollUnlessPaused = (): void => void (isPaused.get() || poll.current());
      timer = setTimeout(pollUnlessPaused, Math.min(everyMs * 2 ** failures, SLOWEST_MS));
    };
    poll.current = async () => {
      clearTimeout(timer);
      // The answer to an earlier poll may be older than that to this one.
      current.abort();
      if (isEnded) return;
      current = new AbortController();
      const { signal } = current;
      try {
        const data = await latest.current(signal);
        if (signal.aborted) return;
        failures = 0;
        setState({ key, data });
        lastAnswer.set({ at: new Date(), fails: false });
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        setState((before) => ({ ...(before.key === key ? before : { key }), error }));
        lastAnswer.set({ ...lastAnswer.get(), fails: true });
      }
      schedulePoll();
    };
    const onVisibilityChange = (): void => {
      if (document.hidden) clearTimeout(timer);
      else if (!isPaused.get()) void poll.current();
    };
    document.addEventListener('visibilitychange', onVisibilityChange);
    void poll.current();
    return () => {
      isEnded = true;
      current.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisibilityChange);
    };
  }, [key, everyMs]);

  const wasPaused = useRef(paused);
  useEffect(() => {
    if (wasPaused.current && !paused) void poll.current();
    wasPaused.current = paused;
  }, [paused]);

  const refresh = useCallback(() => poll.current(), []);
  return state.key === key
    ? { data: state.data, error: state.error, refresh }
    : { data: undefined, error: undefined, refresh };
}
