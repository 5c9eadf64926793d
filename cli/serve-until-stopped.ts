// Runs a hub in this process until a signal ends it.
import type { DestinationStream } from 'pino';
import { EXIT } from './failure.ts';
import { createLogger } from './logger.ts';
import { type RunningHub, runHub } from './run-hub.ts';
import type { Settings } from './settings.ts';

export type ServeOptions = {
  readonly dataDir: string;
  readonly log: DestinationStream;
  /** Called once the hub is ready. */
  readonly onReady?: (hub: RunningHub) => Promise<void>;
};

/** What is under way when a signal comes has so long to finish. */
const GRACE_MS = 5_000;

/** Resolves after the first SIGTERM or SIGINT, once everything is closed. A second signal ends the process at once. */
export async function serveUntilStopped(
  settings: Settings,
  { dataDir, log, onReady }: ServeOptions,
): Promise<void> {
  const logger = createLogger(settings.logLevel, log);
  const stopped = firstSignal();
  const hub = await runHub(settings, { dataDir, logger });
  try {
    logger.info({ gateway: hub.gatewayUrl, rpc: hub.core?.rpcUrl }, 'hub is ready');
    await onReady?.(hub);
    logger.info({ signal: await stopped }, 'hub is stopping');
  } finally {
    await hub.stop(GRACE_MS);
  }
  logger.info('hub has stopped');
}

/** One Ctrl-C can come twice, from the terminal and passed on by npm: what follows so soon is the same signal. */
const ECHO_MS = 250;

function firstSignal(): Promise<NodeJS.Signals> {
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
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}
