// Runs a hub as one of several processes on the same ports, until the parent process tells it to stop.
import cluster from 'node:cluster';
import { messageOf } from '../../lib/caught-error.ts';
import { EXIT } from '../errors/failure.ts';
import { createWorkerGather } from './gather-metrics.ts';
import { addressesOf } from './run-hub.ts';
import { type ServeOptions, serveUntilStopped } from './serve-until-stopped.ts';
import type { Settings } from './setting-table.ts';
import { type FromWorker, type ToWorker, WORKER_VARIABLE } from './workers/messages.ts';

/** Reports a failure to the parent process only. */
export async function serveAsWorker(settings: Settings, options: ServeOptions): Promise<void> {
  // Ctrl-C and a closed terminal reach every process of the terminal; the parent handles them.
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {});
  const told = Promise.withResolvers<string>();
  let onReadiness: (change: 'announced' | 'drain') => void = () => {};
  const metrics = createWorkerGather((message) => void tell(message));
  process.on('message', (message: ToWorker) => {
    if (metrics.receive(message)) return;
    if (message === 'stop') told.resolve(message);
    else if (message === 'announced' || message === 'drain') onReadiness(message);
    else process.emit('SIGHUP');
  });
  try {
    await serveUntilStopped(settings, {
      ...options,
      worker: {
        number: Number(process.env[WORKER_VARIABLE]),
        toldToStop: told.promise,
        onReadiness: (listener) => {
          onReadiness = listener;
        },
        gather: metrics.gather,
      },
      async onReady(hub) {
        metrics.measure = () => hub.metrics.collectOwn();
        await tell({ ready: addressesOf(hub) });
      },
    });
    cluster.worker?.disconnect();
  } catch (error) {
    await tell({ failed: messageOf(error) });
    process.exit(EXIT.failed);
  }
}

function tell(message: FromWorker): Promise<void> {
  return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
}
