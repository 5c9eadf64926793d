// The signals that end a program: the first one, and a later one, which does not wait.
import { constants } from 'node:os';

/** Ctrl-C, `kill` or a service manager, and a terminal that is closed. They mean the same. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const satisfies readonly NodeJS.Signals[];

/** SIGHUP makes a hub with a certificate read that again. Without one, a terminal that is closed stops the hub. */
export function stopSignals({ rpcTlsCert }: { readonly rpcTlsCert?: unknown }): readonly NodeJS.Signals[] {
  return ENDING_SIGNALS.filter((signal) => signal !== 'SIGHUP' || rpcTlsCert === undefined);
}

/** One Ctrl-C can come twice, from the terminal and passed on by npm: what follows so soon is the same signal. */
const ECHO_MS = 250;

/** The exit code that shells give a program that a signal has ended. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/** Calls `onFirst` at the first of these signals, `onLater` at each later one. Returns what ends that. */
export function catchSignals(
  signals: readonly NodeJS.Signals[],
  onFirst: (signal: NodeJS.Signals) => void,
  onLater: (signal: NodeJS.Signals) => void,
): () => void {
  let first: number | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (first === undefined) {
      first = now;
      onFirst(signal);
    } else if (now - first > ECHO_MS) {
      onLater(signal);
    }
  };
  for (const signal of signals) process.on(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/** Resolves with the first of these signals. One that comes later ends the process at once. */
export function firstSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    catchSignals(signals, resolve, (signal) => process.exit(signalExitCode(signal)));
  });
}
