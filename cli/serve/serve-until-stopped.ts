// Runs a hub in this process until a signal.
import type { DestinationStream, Logger } from 'pino';
import type { Gather } from '../../lib/metrics/metrics.ts';
import { CliError, EXIT } from '../errors/failure.ts';
import {
  ENDING_SIGNALS,
  firstSignal,
  onReloadSignal,
  signalExitCode,
  stopSignals,
} from '../interrupt/first-signal.ts';
import { packageVersion } from '../version.ts';
import { warnOfPoolSize } from './check-pool-size.ts';
import { drain } from './drain.ts';
import { delayMajorCollections } from './heap-growth.ts';
import type { LogOutput } from './log-output.ts';
import { createLogger } from './logger.ts';
import { addressesOf, type RunningHub, runHub } from './run-hub.ts';
import type { Settings } from './setting-table.ts';
import { isTracingEnabled } from './tracing-enabled.ts';

export type ServeOptions = {
  readonly dataDir: string;
  readonly log: DestinationStream & Partial<LogOutput>;
  readonly onReady?: (hub: RunningHub) => Promise<void>;
  /** Set for a worker, which its parent process controls. */
  readonly worker?: WorkerPlace;
};

export type WorkerPlace = {
  /** From 1. */
  readonly number: number;
  /**
   * Resolves when the parent tells the worker to stop. A terminal sends Ctrl-C to all processes, so a worker
   * ignores it.
   */
  readonly toldToStop: Promise<string>;
  /** Registers callbacks for the announcement of the hub and for draining. */
  readonly onReadiness: (listener: (change: 'announced' | 'drain') => void) => void;
  /** Adds the metrics of the other processes. */
  readonly gather: Gather;
};

/** The grace period of requests in progress after a signal. */
const GRACE_MS = 5_000;
/** The time to export the last traces. */
const TRACES_MS = 2_000;
/** After that the process ends, even if the exporter still waits. */
const LAST_MS = 250;

/**
 * Resolves after the first of `stopSignals`, once everything is closed. A second one ends the process at
 * once. Rejects if the hub cannot start or cannot continue.
 */
export async function serveUntilStopped(
  settings: Settings,
  { dataDir, log, onReady, worker }: ServeOptions,
): Promise<void> {
  delayMajorCollections();
  const traced = isTracingEnabled(process.env);
  const logger = createLogger(settings.logLevel, log, { worker: worker?.number, traced });
  const what = worker ? 'worker' : 'hub';
  const fatal = Promise.withResolvers<never>();
  fatal.promise.catch(() => {}); // awaited below, if needed
  const stopped: Promise<string> = worker
    ? Promise.race([worker.toldToStop, firstSignal(['SIGTERM'])])
    : firstSignal(stopSignals(settings));
  // Nothing to do during the start: the hub also looks for new certificates every two seconds.
  let reload = (): void => {};
  onReloadSignal(settings, () => reload());
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
  reload = () => void hub.reload();
  // The terminal gets one line; the stack goes to the log.
  const crashed = (error: unknown): void => logger.fatal({ err: error }, `${what} has crashed`);
  process.on('uncaughtExceptionMonitor', crashed);
  try {
    logger.info(
      { ...(worker ? { pid: process.pid } : { workers: 1 }), ...addressesOf(hub) },
      `${what} is ready`,
    );
    if (worker === undefined) await warnOfPoolSize(settings, hub.core?.databaseUrl, logger);
    worker?.onReadiness((change) => {
      if (change === 'announced') hub.readiness.serve();
      else hub.readiness.drain();
    });
    await onReady?.(hub);
    const signal = await Promise.race([stopped, fatal.promise]);
    hub.readiness.drain();
    // Workers drain together, when the parent process says so.
    if (worker === undefined) await drain(settings, logger, signal);
    logger.info({ signal }, `${what} is stopping`);
  } finally {
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

/** Several MB, and a tenth of a second or more to load. */
async function openTracing({ role }: Settings, logger: Logger) {
  const { startTracing } = await import('../../lib/tracing/start-tracing.ts');
  const { stop } = startTracing({ version: packageVersion(), role, logger });
  return {
    async stop() {
      if (await stop(TRACES_MS)) return;
      logger.warn('the last traces could not be exported');
      setTimeout(() => process.exit(), LAST_MS).unref();
    },
  };
}

/** A signal during the start: the hub gets the grace period to finish starting, and then stops in order. */
async function waitBriefly(starting: Promise<unknown>, reason: string): Promise<void> {
  const signal = ENDING_SIGNALS.find((each) => each === reason) ?? 'SIGTERM'; // a worker stops by a message, without a signal
  const timer = setTimeout(() => process.exit(signalExitCode(signal)), GRACE_MS);
  await starting.finally(() => clearTimeout(timer));
}
