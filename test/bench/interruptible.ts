// Handles Ctrl-C during a benchmark: stops everything that the benchmark started before the process exits.
import { constants } from 'node:os';
import { firstSignal } from '../../cli/interrupt/first-signal.ts';

/** Starts something and registers how to stop it when the work ends, fails or is interrupted. */
export type Start = <T>(begin: () => Promise<T>, stop: (started: T) => Promise<void>) => Promise<T>;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs `work`, then stops what it started in reverse order. After a signal it does the same and exits. */
export async function interruptible<T>(work: (start: Start) => Promise<T>): Promise<T> {
  const undo = new AsyncDisposableStack();
  const starting = new Set<Promise<unknown>>();
  let signal: NodeJS.Signals | undefined;
  const start: Start = async (begin, stop) => {
    if (signal !== undefined) throw new Error(`not started after ${signal}`);
    const started = begin().then((one) => {
      undo.defer(() => stop(one));
      return one;
    });
    starting.add(started);
    return started.finally(() => starting.delete(started));
  };
  let stopped: Promise<void> | undefined;
  const stopAll = (): Promise<void> => {
    stopped ??= Promise.allSettled(starting).then(() => undo.disposeAsync());
    return stopped;
  };
  const interrupted = firstSignal(SIGNALS).then(async (received) => {
    signal = received;
    process.stderr.write('stopping what was started\n');
    await stopAll();
    return process.exit(128 + constants.signals[received]);
  });
  try {
    return await Promise.race([work(start), interrupted]);
  } finally {
    await stopAll();
    // Stopping the servers makes the interrupted work fail. That error is expected.
    if (signal !== undefined) await interrupted;
  }
}
