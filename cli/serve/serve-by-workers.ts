// Runs a hub in several worker processes behind one pair of ports, until a signal. The parent process serves
// nothing itself.
import { availableParallelism } from 'node:os';
import { Secret } from '../../core/secret.ts';
import { openDataDir } from '../../core/storage/data-dir.ts';
import { connectionCount } from '../../core/storage/embedded-postgres/connection-count.ts';
import { freePort } from '../../core/storage/embedded-postgres/free-port.ts';
import { ownPostgres } from '../../core/storage/embedded-postgres/supervise.ts';
import { firstSignal, onReloadSignal, stopSignals } from '../interrupt/first-signal.ts';
import { type Warnings, warnOfPoolSize } from './check-pool-size.ts';
import { drain } from './drain.ts';
import { hubFile } from './hub-file.ts';
import { createLogger } from './logger.ts';
import { readerGone, type ServeOptions } from './serve-until-stopped.ts';
import type { Settings } from './setting-table.ts';
import { startWorkers, stopWorkers } from './workers/worker-pool.ts';

/** Workers that have not exited by then are killed. It is longer than their own grace period. */
export const STOP_MS = 15_000;

/** Like `serveUntilStopped`. Restarts a worker that dies; if that does not help, the hub ends. */
export async function serveByWorkers(
  settings: Settings,
  { dataDir: path, log }: Pick<ServeOptions, 'dataDir' | 'log'>,
): Promise<void> {
  const { workers: count, role } = settings;
  const logger = createLogger(settings.logLevel, log);
  const ending = new AbortController();
  const fatal = Promise.withResolvers<never>();
  fatal.promise.catch(() => {}); // awaited below, if needed
  void log.readerGone?.then(() => fatal.reject(readerGone()));
  const stopped = firstSignal(stopSignals(settings));
  // Nothing to do during the start: the hub also looks for new certificates every two seconds.
  let reload = (): void => {};
  onReloadSignal(settings, () => reload());
  {
    await using undo = new AsyncDisposableStack();
    const dataDir = await openDataDir(path);
    const environment: Record<string, string> = {};
    let { databaseUrl } = settings;
    if (role !== 'gateway' && databaseUrl === undefined) {
      const postgres = await ownPostgres({
        dataDir,
        maxConnections: connectionCount(count, settings.databasePool),
        log: (line) => logger.info(line),
        onLost: fatal.reject,
      });
      undo.defer(() => postgres.stop());
      environment['DATABASE_URL'] = postgres.url;
      databaseUrl = new Secret(postgres.url);
    }
    const flags = await chosenPorts(settings);
    warnOfLimits(settings, logger);
    await warnOfPoolSize(settings, databaseUrl, logger);

    undo.defer(() => stopWorkers(STOP_MS, logger));
    undo.defer(() => dataDir.withdraw());
    undo.defer(() => ending.abort());
    const starting = startWorkers({
      count,
      flags,
      environment,
      logger,
      ending: ending.signal,
      async announce(addresses) {
        if (role === 'gateway') return;
        await dataDir.announce(hubFile(settings, addresses));
        if (ending.signal.aborted) await dataDir.withdraw(); // the hub was told to stop while it started
      },
      onLost: fatal.reject,
    });
    const pool = await Promise.race([starting, stopped, fatal.promise]);
    if (typeof pool === 'string') {
      starting.catch(() => {}); // it was interrupted
      logger.info({ signal: pool }, 'hub is stopping');
    } else {
      const { addresses, tell } = pool;
      reload = () => tell('reload');
      logger.info({ ...addresses, workers: count }, 'hub is ready');
      const signal = await Promise.race([stopped, fatal.promise]);
      tell('drain');
      await drain(settings, logger, signal);
      logger.info({ signal }, 'hub is stopping');
    }
  }
  logger.info('hub has stopped');
  await log.close?.();
}

/** For port 0, all workers must take the same free port, later ones too. */
async function chosenPorts({ port, rpcPort }: Settings): Promise<string[]> {
  return [
    ...(port === 0 ? ['--port', String(await freePort())] : []),
    ...(rpcPort === 0 ? ['--rpc-port', String(await freePort())] : []),
  ];
}

function warnOfLimits({ workers, redisUrl }: Settings, logger: Warnings): void {
  const processors = availableParallelism();
  if (workers > processors) {
    logger.warn({ workers, processors }, 'more workers than processors');
  }
  if (redisUrl === undefined) {
    logger.warn(
      { workers },
      'without REDIS_URL each worker counts requests and guesses by itself: a client can get the limit once per worker',
    );
  }
}
