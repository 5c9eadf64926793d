// Shows loaded data, a loading state, or an error with advice.
import type { ComponentChildren } from 'preact';
import { explain } from '../explain-error.ts';
import type { Live } from '../poll-hub.ts';

type LoadedProps<T> = { readonly live: Live<T>; readonly children: (data: T) => ComponentChildren };

export function Loaded<T>({ live, children }: LoadedProps<T>) {
  const { data, error, refresh } = live;
  const failed = error !== undefined && (
    <Trouble>
      {explain(error)} {data !== undefined && 'The data is older. '}
      <button type="button" class="quiet" onClick={() => void refresh()}>
        Ask again
      </button>
    </Trouble>
  );
  if (data === undefined) {
    return (
      failed || (
        <div class="loading" role="status">
          Asking the hub …
        </div>
      )
    );
  }
  return (
    <>
      {failed}
      {children(data)}
    </>
  );
}

export function Trouble({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="trouble" role="alert">
      {children}
    </div>
  );
}
