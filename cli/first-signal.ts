// The signal that tells a hub to stop, and the second one, which does not wait.
import { EXIT } from './failure.ts';

/** One Ctrl-C can come twice, from the terminal and passed on by npm: what follows so soon is the same signal. */
const ECHO_MS = 250;

/** Resolves with the first of these signals. One that comes later ends the process at once. */
export function firstSignal(signals: readonly NodeJS.Signals[]): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let first: number | undefined;
    const onSignal = (signal: NodeJS.Signals): void => {
      const now = performance.now();
      if (first === undefined) {
        first = now;
        resolve(signal);
      } else if (now - first > ECHO_MS) {
        process.exit(EXIT.interrupted);
      }
    };
    for (const signal of signals) process.on(signal, onSignal);
  });
}
