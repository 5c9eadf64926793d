// Asks the hub again and again, so that a page shows what is there now: less often while it fails, never while nobody looks.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { createState, useValue } from './state.ts';

/** Whether pages stay as they are until somebody asks. */
export const isPaused = createState(false);

/** When the page last heard from the hub, and whether it does now. */
export const heard = createState<{ readonly at: Date | undefined; readonly fails: boolean }>({
  at: undefined,
  fails: false,
});

export type Live<T> = {
  /** The latest answer; it stays while asking again fails. */
  readonly data: T | undefined;
  /** Why the latest question had no answer. */
  readonly error: unknown;
  /** Asks at once. */
  readonly refresh: () => Promise<void>;
};

const SLOWEST_MS = 60_000;

/**
 * @param key Of what is asked for: with another one everything begins anew.
 * @param everyMs Pause between an answer and the next question.
 */
export function useLive<T>(key: string, everyMs: number, load: (signal: AbortSignal) => Promise<T>): Live<T> {
  const [state, setState] = useState<{ key: string; data?: T; error?: unknown }>({ key });
  const latest = useRef(load);
  latest.current = load;
  const ask = useRef<() => Promise<void>>(async () => {});
  const paused = useValue(isPaused);

  useEffect(() => {
    const ending = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    const later = (): void => {
      clearTimeout(timer);
      if (ending.signal.aborted || isPaused.get() || document.hidden) return;
      const askUnlessPaused = (): void => void (isPaused.get() || ask.current());
      timer = setTimeout(askUnlessPaused, Math.min(everyMs * 2 ** failures, SLOWEST_MS));
    };
    ask.current = async () => {
      clearTimeout(timer);
      try {
        const data = await latest.current(ending.signal);
        if (ending.signal.aborted) return;
        failures = 0;
        setState({ key, data });
        heard.set({ at: new Date(), fails: false });
      } catch (error) {
        if (ending.signal.aborted) return;
        failures += 1;
        setState((before) => ({ ...(before.key === key ? before : { key }), error }));
        heard.set({ ...heard.get(), fails: true });
      }
      later();
    };
    const looked = (): void => {
      if (document.hidden) clearTimeout(timer);
      else if (!isPaused.get()) void ask.current();
    };
    document.addEventListener('visibilitychange', looked);
    void ask.current();
    return () => {
      ending.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', looked);
    };
  }, [key, everyMs]);

  const wasPaused = useRef(paused);
  useEffect(() => {
    if (wasPaused.current && !paused) void ask.current();
    wasPaused.current = paused;
  }, [paused]);

  const refresh = useCallback(() => ask.current(), []);
  return state.key === key
    ? { data: state.data, error: state.error, refresh }
    : { data: undefined, error: undefined, refresh };
}
