// The metrics of all workers as those of one hub. Each worker returns the sum for all workers.
import { type Family, mergeFamilies } from '../../../lib/metrics/family.ts';
import { createMetrics, type GaugeSpec } from '../../../lib/metrics/metrics.ts';
import type { FromWorker, ToWorker } from './messages.ts';

type WorkerProcess = { readonly id: number; send(message: ToWorker, done: () => void): unknown };

type MetricsMessage = Extract<FromWorker, { gather: number } | { measured: unknown }>;

/** A worker that does not reply within this time counts as stuck. Its latest counters are used. */
const REPLY_TIMEOUT_MS = 1_000;

export const WORKERS: GaugeSpec = {
  name: 'hub_workers',
  labelNames: ['state'],
  help: 'Worker processes: wanted (as configured), serving, and answering now.',
};
export const DEATHS = {
  name: 'hub_worker_deaths_total',
  help: 'Worker processes that died and were restarted.',
};

/** For the process that starts the workers. `wanted`: how many there should be. */
export function createWorkerMetrics(wanted: number) {
  const serving = new Map<number, WorkerProcess>();
  const latest = new Map<number, readonly Family[]>();
  /** The latest counters of workers that have ended. Prometheus takes a sum that falls for a restart. */
  let endedCounters: (readonly Family[])[] = [];
  let deaths = 0;
  let answering = 0;
  const awaited = new Map<number, (families: readonly Family[]) => void>();
  let lastRequest = 0;

  const own = createMetrics();
  own.gauge(WORKERS, () => [
    { labels: { state: 'wanted' }, value: wanted },
    { labels: { state: 'serving' }, value: serving.size },
    { labels: { state: 'answering' }, value: answering },
  ]);
  own.observedCounter(DEATHS, () => deaths);

  /** Resolves with whether the worker replied. */
  const ask = (worker: WorkerProcess): Promise<boolean> =>
    new Promise((resolve) => {
      const request = ++lastRequest;
      const done = (replied: boolean): void => {
        clearTimeout(timer);
        awaited.delete(request);
        resolve(replied);
      };
      const timer = setTimeout(done, REPLY_TIMEOUT_MS, false);
      awaited.set(request, (families) => {
        if (serving.has(worker.id)) latest.set(worker.id, families);
        done(true);
      });
      worker.send({ measure: request }, () => {}); // it may end meanwhile
    });

  const gather = async (asker: WorkerProcess): Promise<Family[]> => {
    const others = [...serving.values()].filter(({ id }) => id !== asker.id);
    const stuck = new Set<number>();
    await Promise.all(
      others.map(async (worker) => {
        if (!(await ask(worker))) stuck.add(worker.id);
      }),
    );
    answering = serving.size - [...stuck].filter((id) => serving.has(id)).length;
    const ofPool = await own.collectOwn();
    const parts = [...latest].map(([id, families]) => (stuck.has(id) ? families.filter(isCount) : families));
    const ended = endedCounters;
    const total = await mergeFamilies([ofPool, ...parts, ...ended]);
    if (ended.length > 1) {
      const joined = await mergeFamilies(ended);
      if (endedCounters === ended) endedCounters = [joined];
    }
    return total;
  };

  return {
    /** A worker that serves from now on. */
    add(worker: WorkerProcess): void {
      serving.set(worker.id, worker);
    },
    /** The worker has ended. `died`: without a request to end. */
    remove({ id }: WorkerProcess, died: boolean): void {
      if (died) deaths += 1;
      serving.delete(id);
      const counts = (latest.get(id) ?? []).filter(isCount);
      latest.delete(id);
      if (counts.length > 0) endedCounters = [...endedCounters, counts];
    },
    receive(worker: WorkerProcess, message: MetricsMessage): void {
      if ('measured' in message) {
        awaited.get(message.for)?.(message.measured);
        return;
      }
      if (serving.has(worker.id)) latest.set(worker.id, message.own);
      gather(worker).then(
        (gathered) => worker.send({ gathered, for: message.gather }, () => {}),
        () => {}, // the worker times out and logs it
      );
    },
  };
}

/** An old value of a gauge is not valid now. */
function isCount({ type }: Family): boolean {
  return type !== 'gauge';
}
