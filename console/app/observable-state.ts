// An observable value: components that use it render again when it changes.
import { useLayoutEffect, useState } from 'preact/hooks';

export type State<T> = {
  get(): T;
  set(value: T): void;
  /** Calls `changed` after each change. Returns a function that unsubscribes. */
  follow(changed: () => void): () => void;
};

export function createState<T>(initial: T): State<T> {
  let value = initial;
  const followers = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const changed of [...followers]) changed();
    },
    follow(changed) {
      followers.add(changed);
      return () => followers.delete(changed);
    },
  };
}

export function useValue<T>(state: State<T>): T {
  const [value, setValue] = useState(state.get);
  useLayoutEffect(() => {
    const changed = (): void => setValue(() => state.get());
    changed(); // it may have changed since the render
    return state.follow(changed);
  }, [state]);
  return value;
}
