// Signal handling for commands that change or write something: finish the current call, then report progress.
import { CliError } from '../errors/failure.ts';
import { catchSignals, ENDING_SIGNALS, signalExitCode } from './first-signal.ts';

/** For `hold` and `error` of a command that has changed nothing. */
export const NOTHING_CHANGED = 'Nothing was changed.';

/** After this time, the command prints why it has not ended yet. */
const NOTE_AFTER_MS = 1_000;

export type Interruption = {
  /**
   * Makes the first signal stop the command gracefully. A second signal prints `lastWords` and ends the
   * process.
   */
  hold(lastWords?: () => string): void;
  /** Makes any signal end the process again. */
  release(): void;
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** The error of a command that the signal has stopped. `done` says what was done until then. */
  error(done: string): CliError;
  /** Waits for `work`, but not beyond the first signal. @throws what `error(done)` returns */
  race<T>(work: Promise<T>, done: () => string): Promise<T>;
};

type Reporter = {
  readonly note: (text: string) => void;
  readonly fail: (error: CliError) => void;
};

const UNKNOWN = 'It is unknown whether the last change was made.';

export function createInterruption({ note, fail }: Reporter): Interruption {
  const controller = new AbortController();
  const { signal } = controller;
  let words: (() => string) | undefined;
  let name: NodeJS.Signals = 'SIGINT';
  let end: (() => void) | undefined;
  let noteTimer: NodeJS.Timeout | undefined;
  const error = (done: string): CliError =>
    new CliError('interrupted', signalExitCode(name), `Interrupted by ${name}. ${done}`.trim());
  const onFirst = (first: NodeJS.Signals): void => {
    name = first;
    const waiting = `${first}: finishing the current call. A second signal ends the command at once.`;
    noteTimer = setTimeout(() => note(waiting), NOTE_AFTER_MS).unref();
    controller.abort();
  };
  const onLater = (later: NodeJS.Signals): void => {
    name = later;
    fail(error(words?.() ?? UNKNOWN));
    process.exit(signalExitCode(later));
  };
  return {
    signal,
    error,
    hold(lastWords) {
      words = lastWords ?? words;
      end ??= catchSignals(ENDING_SIGNALS, onFirst, onLater);
    },
    release() {
      clearTimeout(noteTimer);
      end?.();
      end = undefined;
    },
    race: (work, done) =>
      new Promise((resolve, reject) => {
        const onAbort = (): void => reject(error(done()));
        const settled = (): void => signal.removeEventListener('abort', onAbort);
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
        work.then(resolve, reject).finally(settled);
      }),
  };
}

/**
 * The items until they end or the first signal comes, whichever is first. Closes `items` when the consumer stops early.
 *
 * @throws what `error(done)` returns
 */
export async function* untilInterrupted<T>(
  items: AsyncIterable<T>,
  interruption: Pick<Interruption, 'race'>,
  done: () => string,
): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  let isPending = false;
  try {
    for (;;) {
      isPending = true;
      const next = await interruption.race(iterator.next(), done);
      isPending = false;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    const closing = Promise.resolve(iterator.return?.());
    // After a signal, `next()` may never resolve, and a generator returns only after it.
    if (isPending) closing.catch(() => {});
    else await closing;
  }
}
