// Catches the signals that end a program: the first one, and later ones.
import { constants } from 'node:os';

/** Ctrl-C, `kill` or a service manager, and a closed terminal are treated alike. */
export const ENDING_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const satisfies readonly NodeJS.Signals[];

/** With a certificate, SIGHUP makes the hub reload it. Without one, a closed terminal stops the hub. */
export function stopSignals({ rpcTlsCert }: { readonly rpcTlsCert?: unknown }): readonly NodeJS.Signals[] {
  return ENDING_SIGNALS.filter((signal) => signal !== 'SIGHUP' || rpcTlsCert === undefined);
}

/**
 * With a certificate, calls `reload` at each SIGHUP until the process ends: without a listener, SIGHUP would end a hub
 * that starts or stops.
 */
export function onReloadSignal({ rpcTlsCert }: { readonly rpcTlsCert?: unknown }, reload: () => void): void {
  if (rpcTlsCert !== undefined) process.on('SIGHUP', reload);
}

/** The same Ctrl-C can arrive twice, from the terminal and from npm: ignore a repetition within this time. */
const ECHO_MS = 250;

/** The exit code of a program that a signal ended, as shells report it. */
export function signalExitCode(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

/**
 * Calls `onFirst` at the first of these signals and `onLater` at each later one. Returns a function that
 * stops listening.
 */
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

/** Resolves with the first of these signals. A later one ends the process at once. */
export function firstSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    catchSignals(signals, resolve, (signal) => process.exit(signalExitCode(signal)));
  });
}
