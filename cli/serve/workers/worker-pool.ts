// Keeps a number of worker processes alive that serve the same ports.
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Addresses } from '../hub-file.ts';
import { type FromWorker, type ToWorker, WORKER_VARIABLE } from './messages.ts';
import { createWorkerMetrics } from './metrics.ts';

export type WorkerPoolOptions = {
  readonly count: number;
  /** Flags of the workers, after those of this process. */
  readonly flags: readonly string[];
  /** Variables of the workers, besides those of this process. */
  readonly environment: Readonly<Record<string, string>>;
  readonly logger: Logger;
  /** Aborted when the workers must end: from then on none is started. */
  readonly ending: AbortSignal;
  /** Called once, when the first worker serves: afterwards workers are ready. */
  readonly announce: (addresses: Addresses) => Promise<void>;
  /** A worker dies again and again: restarting it is pointless. */
  readonly onLost: (error: Error) => void;
};

/** A worker that dies this often within this time is not restarted. */
const DEATHS = 5;
const DEATHS_WITHIN_MS = 60_000;
/** Pause before the second restart. Each further pause is twice as long. */
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 5_000;

type Past = {
  /** The times of its deaths in the last minute. */
  readonly deaths: readonly number[];
  /** Starts in a row that failed with an error while another worker served. */
  readonly failedStarts: number;
};

const NO_PAST: Past = { deaths: [], failedStarts: 0 };

/**
 * Starts the first worker, which prepares the database, then the others; resolves when all of them serve.
 * Restarts one that dies later.
 * @throws Error with the worker's message, if one cannot start
 */
export async function startWorkers(options: WorkerPoolOptions) {
  const { count, flags, environment, logger, ending, announce, onLost } = options;
  // The parent process owns waiting connections, so that none is lost with a worker.
  cluster.schedulingPolicy = cluster.SCHED_RR;
  cluster.setupPrimary({ args: [...process.argv.slice(2), ...flags] });

  const metrics = createWorkerMetrics(count);
  let announcing: Promise<void> | undefined;
  let isDraining = false;
  let serving = 0;

  const start = async (
    number: number,
    { deaths, failedStarts }: Past,
    isFirst = false,
  ): Promise<Addresses> => {
    ending.throwIfAborted();
    const worker = cluster.fork({ ...environment, [WORKER_VARIABLE]: String(number) });
    logger.info({ worker: number, pid: worker.process.pid }, 'worker starts');
    const ready = Promise.withResolvers<Addresses>();
    let failure: string | undefined;
    worker.on('message', (message: FromWorker) => {
      if ('ready' in message) {
        metrics.add(worker);
        ready.resolve(message.ready);
      } else if ('failed' in message) failure = message.failed;
      else metrics.receive(worker, message);
    });
    let served = false;
    worker.once('exit', (code, signal) => {
      const isStopped = served && code === 0; // by SIGTERM to this worker alone
      if (served) serving -= 1;
      metrics.remove(worker, !ending.aborted && !isStopped);
      const reason = failure ?? (signal ? `killed by ${signal}` : `exit code ${code}`);
      ready.reject(new Error(failure ?? `worker ${number} did not start: ${reason}`));
      if (ending.aborted || (!served && isFirst)) return; // the caller handles the first start
      const about = { worker: number, pid: worker.process.pid };
      if (isStopped) logger.info(about, 'a worker was stopped: starting another');
      else logger.error({ ...about, reason }, 'a worker died');
      const hasFailedToStart = !served && failure !== undefined;
      const past = { deaths: recent(deaths), failedStarts: served ? 0 : failedStarts };
      const again = isStopped
        ? start(number, past)
        : startAfterDeath(number, past, { hasFailedToStart, reason });
      again.catch(() => {}); // it died as well: its exit says so
    });
    const addresses = await ready.promise;
    served = true;
    serving += 1;
    announcing ??= announce(addresses);
    await announcing;
    // A worker that was starting when the hub began to drain did not get that message.
    worker.send(isDraining ? 'drain' : 'announced', () => {}); // it may have died meanwhile
    return addresses;
  };

  const startAfterDeath = async (
    number: number,
    past: Past,
    { hasFailedToStart, reason }: { readonly hasFailedToStart: boolean; readonly reason: string },
  ): Promise<Addresses> => {
    // No worker can start during an outage of the database, but those that serve survive it.
    const isOutage = hasFailedToStart && serving > 0;
    const deaths = isOutage ? past.deaths : [...past.deaths, performance.now()];
    const failedStarts = past.failedStarts + Number(isOutage);
    if (deaths.length >= DEATHS) {
      const lost = new Error(`worker ${number} died ${DEATHS} times within a minute: ${reason}`);
      onLost(lost);
      throw lost;
    }
    const restarts = past.deaths.length + past.failedStarts;
    if (restarts > 0) {
      const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (restarts - 1), MAX_PAUSE_MS);
      await setTimeout(pauseMs, undefined, { signal: ending });
    }
    return start(number, { deaths, failedStarts });
  };

  const addresses = await start(1, NO_PAST, true);
  await Promise.all(Array.from({ length: count - 1 }, (_, index) => start(index + 2, NO_PAST, true)));
  return {
    addresses,
    tell(message: ToWorker): void {
      isDraining ||= message === 'drain';
      tell(message);
    },
  };
}

function recent(deaths: readonly number[]): number[] {
  return deaths.filter((time) => performance.now() - time < DEATHS_WITHIN_MS);
}

function tell(message: ToWorker): void {
  for (const worker of liveWorkers()) worker.send(message, () => {}); // it may end meanwhile
}

/** Tells all workers to end, and waits; kills those that have not ended after `graceMs`. */
export async function stopWorkers(graceMs: number, logger: Logger): Promise<void> {
  const ends = liveWorkers().map((worker) => once(worker, 'exit'));
  tell('stop');
  const cancelKill = new AbortController();
  const killLater = setTimeout(graceMs, undefined, { signal: cancelKill.signal }).then(
    () => {
      for (const worker of liveWorkers()) {
        logger.warn({ pid: worker.process.pid }, 'a worker does not stop: killing it');
        worker.process.kill('SIGKILL');
      }
    },
    () => {}, // all have ended
  );
  await Promise.all(ends);
  cancelKill.abort();
  await killLater;
}

function liveWorkers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter(
    (worker): worker is Worker => worker?.isDead() === false,
  );
}
