// Runs a hub in this process until a signal ends it.
import type { DestinationStream, Logger } from 'pino';
import type { Gather } from '../metrics/metrics.ts';
import { warnOfCrowding } from './connection-room.ts';
import { drain } from './drain.ts';
import { CliError, EXIT } from './failure.ts';
import { ENDING_SIGNALS, firstSignal, signalExitCode, stopSignals } from './first-signal.ts';
import type { LogOutput } from './log-output.ts';
import { createLogger } from './logger.ts';
import { addressesOf, type RunningHub, runHub } from './run-hub.ts';
import type { Settings } from './settings.ts';
import { tracesAreWanted } from './traces-wanted.ts';
import { packageVersion } from './version.ts';

export type ServeOptions = {
  readonly dataDir: string;
  readonly log: DestinationStream & Partial<LogOutput>;
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
  /** Calls back when the hub is announced, and when it is to drain. */
  readonly onAvailability: (listener: (change: 'announced' | 'drain') => void) => void;
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
 * Resolves after the first of `stopSignals`, once everything is closed. A second one ends the process at once.
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
    : firstSignal(stopSignals(settings));
  const tracing = traced ? await openTracing(settings, logger) : undefined;
  const starting = runHub(settings, {
    dataDir,
    logger,
    worker: worker?.number,
    gather: worker?.gather,
    log,
    onFatal: fatal.reject,
  });
  void log.readerGone?.then(() => fatal.reject(readerGone()));
  const early = await Promise.race([starting, stopped]);
  if (typeof early === 'string') await waitBriefly(starting, early);
  const hub = await starting;
  const reload = (): void => void hub.reload();
  if (settings.rpcTlsCert !== undefined) process.on('SIGHUP', reload);
  // The terminal is told in one line; where it was is for the log.
  const crashed = (error: unknown): void => logger.fatal({ err: error }, `${what} has crashed`);
  process.on('uncaughtExceptionMonitor', crashed);
  try {
    logger.info({ ...(worker && { pid: process.pid }), ...addressesOf(hub) }, `${what} is ready`);
    if (worker === undefined) await warnOfCrowding(settings, logger);
    worker?.onAvailability((change) => {
      if (change === 'announced') hub.availability.serve();
      else hub.availability.drain();
    });
    await onReady?.(hub);
    const signal = await Promise.race([stopped, fatal.promise]);
    hub.availability.drain();
    // Workers drain together, when the process that started them says so.
    if (worker === undefined) await drain(settings, logger, signal);
    logger.info({ signal }, `${what} is stopping`);
  } finally {
    process.off('SIGHUP', reload);
    process.off('uncaughtExceptionMonitor', crashed);
    await hub.stop(GRACE_MS);
    await tracing?.stop();
  }
  logger.info(`${what} has stopped`);
  await log.close?.();
}

export function readerGone(): CliError {
  return new CliError(
    'output_closed',
    EXIT.failed,
    'the program that read the log from standard output has ended, so the hub has stopped',
  );
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
async function waitBriefly(starting: Promise<unknown>, reason: string): Promise<void> {
  const signal = ENDING_SIGNALS.find((each) => each === reason) ?? 'SIGTERM'; // a worker stops by a message, without a signal
  const timer = setTimeout(() => process.exit(signalExitCode(signal)), GRACE_MS);
  await starting.finally(() => clearTimeout(timer));
}
