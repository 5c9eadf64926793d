// Search as one types: waits for a pause in the typing, and keeps the last result until the next arrives.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Live } from '../poll-hub.ts';

const PAUSE_MS = 250;

/** The value after it has not changed for a moment. */
export function useDebounced<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** The answer to the previous query stands in until the current query has one. */
export function useKept<T>(live: Live<T>): Live<T> & { readonly isOutdated: boolean } {
  const kept = useRef<T | undefined>(undefined);
  useEffect(() => {
    if (live.data !== undefined) kept.current = live.data;
  }, [live.data]);
  const isOutdated = live.data === undefined && kept.current !== undefined;
  return { ...live, data: live.data ?? kept.current, isOutdated };
}
