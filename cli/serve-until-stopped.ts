// Runs a hub in this process until a signal ends it.
import type { DestinationStream, Logger } from 'pino';
import type { Gather } from '../metrics/metrics.ts';
import { warnOfCrowding } from './connection-room.ts';
import { EXIT } from './failure.ts';
import { firstSignal } from './first-signal.ts';
import { createLogger } from './logger.ts';
import { releaseMemory, releaseWhenQuiet } from './memory.ts';
import { addressesOf, type RunningHub, runHub } from './run-hub.ts';
import type { Settings } from './settings.ts';
import { tracesAreWanted } from './traces-wanted.ts';
import { packageVersion } from './version.ts';

export type ServeOptions = {
  readonly dataDir: string;
  readonly log: DestinationStream;
  /** Called once the hub is ready. */
  readonly onReady?: (hub: RunningHub) => Promise<void>;
  /** Set if this is one of several processes, and told what to do by the one that started it. */
  readonly worker?: WorkerPlace;
};

export type WorkerPlace = {
  /** From 1. */
  readonly number: number;
  /** Resolves when the worker is told to stop. Ctrl-C does not tell it: a terminal sends that to all processes. */
  readonly toldToStop: Promise<string>;
  /** Adds what the other processes have measured. */
  readonly gather: Gather;
};

/** What is under way when a signal comes has so long to finish. */
const GRACE_MS = 5_000;
/** And its last traces so long, to be taken. */
const TRACES_MS = 2_000;
/** Then the process ends, whatever the exporter still waits for. */
const LAST_MS = 250;

/**
 * Resolves after the first SIGTERM or SIGINT, once everything is closed. A second signal ends the process at once.
 * Rejects if the hub could not start, or could not go on.
 */
export async function serveUntilStopped(
  settings: Settings,
  { dataDir, log, onReady, worker }: ServeOptions,
): Promise<void> {
  const traced = tracesAreWanted(process.env);
  const logger = createLogger(settings.logLevel, log, { worker: worker?.number, traced });
  const what = worker ? 'worker' : 'hub';
  const fatal = Promise.withResolvers<never>();
  fatal.promise.catch(() => {}); // awaited below, if it comes to that
  const stopped: Promise<string> = worker
    ? Promise.race([worker.toldToStop, firstSignal(['SIGTERM'])])
    : firstSignal(['SIGTERM', 'SIGINT']);
  const tracing = traced ? await openTracing(settings, logger) : undefined;
  const starting = runHub(settings, {
    dataDir,
    logger,
    worker: worker?.number,
    gather: worker?.gather,
    onFatal: fatal.reject,
  });
  const early = await Promise.race([starting, stopped]);
  if (typeof early === 'string') await waitBriefly(starting);
  const hub = await starting;
  // Where there is nothing to reload, a terminal that is closed ends the hub, as it ends any program.
  const reload = (): void => void hub.reload();
  if (settings.rpcTlsCert !== undefined) process.on('SIGHUP', reload);
  // The terminal is told in one line; where it was is for the log.
  const crashed = (error: unknown): void => logger.fatal({ err: error }, `${what} has crashed`);
  process.on('uncaughtExceptionMonitor', crashed);
  const endLooks = releaseWhenQuiet();
  try {
    releaseMemory();
    logger.info({ ...(worker && { pid: process.pid }), ...addressesOf(hub) }, `${what} is ready`);
    if (worker === undefined) await warnOfCrowding(settings, logger);
    await onReady?.(hub);
    logger.info({ signal: await Promise.race([stopped, fatal.promise]) }, `${what} is stopping`);
  } finally {
    endLooks();
    process.off('SIGHUP', reload);
    process.off('uncaughtExceptionMonitor', crashed);
    await hub.stop(GRACE_MS);
    await tracing?.stop();
  }
  logger.info(`${what} has stopped`);
}

/** Several MB, and a tenth of a second and more to load. */
async function openTracing({ role }: Settings, logger: Logger) {
  const { startTracing } = await import('../tracing/start-tracing.ts');
  const { stop } = startTracing({ version: packageVersion(), role, logger });
  return {
    async stop() {
      if (await stop(TRACES_MS)) return;
      logger.warn('the last traces were not taken');
      setTimeout(() => process.exit(), LAST_MS).unref();
    },
  };
}

/** A signal came while the hub was starting: it has the grace to finish that, and to stop in order. */
async function waitBriefly(starting: Promise<unknown>): Promise<void> {
  const timer = setTimeout(() => process.exit(EXIT.interrupted), GRACE_MS);
  await starting.finally(() => clearTimeout(timer));
}
