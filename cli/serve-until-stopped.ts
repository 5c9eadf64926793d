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

/**
 * Resolves after the first SIGTERM or SIGINT, once everything is closed. A second signal ends the process at once.
 * Rejects if the hub could not start, or could not go on.
 */
export async function serveUntilStopped(
  settings: Settings,
  { dataDir, log, onReady }: ServeOptions,
): Promise<void> {
  const logger = createLogger(settings.logLevel, log);
  const fatal = Promise.withResolvers<never>();
  fatal.promise.catch(() => {}); // awaited below, if it comes to that
  const stopped = firstSignal();
  const starting = runHub(settings, { dataDir, logger, onFatal: fatal.reject });
  const early = await Promise.race([starting, stopped]);
  if (typeof early === 'string') await waitBriefly(starting);
  const hub = await starting;
  try {
    logger.info({ gateway: hub.gatewayUrl, rpc: hub.core?.rpcUrl }, 'hub is ready');
    await onReady?.(hub);
    logger.info({ signal: await Promise.race([stopped, fatal.promise]) }, 'hub is stopping');
  } finally {
    await hub.stop(GRACE_MS);
  }
  logger.info('hub has stopped');
}

/** A signal came while the hub was starting: it has the grace to finish that, and to stop in order. */
async function waitBriefly(starting: Promise<unknown>): Promise<void> {
  const timer = setTimeout(() => process.exit(EXIT.interrupted), GRACE_MS);
  await starting.finally(() => clearTimeout(timer));
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
