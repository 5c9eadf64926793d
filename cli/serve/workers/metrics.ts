// The metrics of all workers as those of one hub: whichever worker is asked, it tells the sum.
import { type Family, mergeFamilies } from '../../../lib/metrics/family.ts';
import { createMetrics, type GaugeSpec } from '../../../lib/metrics/metrics.ts';
import type { FromWorker, ToWorker } from './messages.ts';

/** What is needed of a worker process. */
type Member = { readonly id: number; send(message: ToWorker, done: () => void): unknown };

export type WorkerMetrics = {
  /** A worker that serves from now on. */
  add(worker: Member): void;
  /** It has ended; `died` if nobody told it to. */
  remove(worker: Member, died: boolean): void;
  /** What it says about metrics. */
  hear(worker: Member, message: Extract<FromWorker, { gather: number } | { measured: unknown }>): void;
};

/** A worker that does not say what it has measured within so long is stuck; what it said last counts. */
const PATIENCE_MS = 1_000;

export const WORKERS: GaugeSpec = {
  name: 'hub_workers',
  labelNames: ['state'],
  help: 'Worker processes: configured, serving, and answering now.',
};
export const DEATHS = {
  name: 'hub_worker_deaths_total',
  help: 'Worker processes that died and were restarted.',
};

/** For the process that starts the workers. `wanted`: how many there should be. */
export function createWorkerMetrics(wanted: number): WorkerMetrics {
  const serving = new Map<number, Member>();
  const said = new Map<number, readonly Family[]>();
  /** Counts of workers that have ended, up to when they were last asked: a sum that falls is a restart to Prometheus. */
  let departed: (readonly Family[])[] = [];
  let deaths = 0;
  let answering = 0;
  const awaited = new Map<number, (families: readonly Family[]) => void>();
  let questions = 0;

  const own = createMetrics();
  own.gauge(WORKERS, () => [
    { labels: { state: 'wanted' }, value: wanted },
    { labels: { state: 'serving' }, value: serving.size },
    { labels: { state: 'answering' }, value: answering },
  ]);
  own.observedCounter(DEATHS, () => deaths);

  /** Whether it answered. */
  const ask = (worker: Member): Promise<boolean> =>
    new Promise((resolve) => {
      const question = ++questions;
      const done = (answered: boolean): void => {
        clearTimeout(timer);
        awaited.delete(question);
        resolve(answered);
      };
      const timer = setTimeout(done, PATIENCE_MS, false);
      awaited.set(question, (families) => {
        if (serving.has(worker.id)) said.set(worker.id, families);
        done(true);
      });
      worker.send({ measure: question }, () => {}); // it may end meanwhile
    });

  const gather = async (asker: Member): Promise<Family[]> => {
    const others = [...serving.values()].filter(({ id }) => id !== asker.id);
    const stuck = new Set<number>();
    await Promise.all(
      others.map(async (worker) => {
        if (!(await ask(worker))) stuck.add(worker.id);
      }),
    );
    answering = serving.size - [...stuck].filter((id) => serving.has(id)).length;
    const ofPool = await own.collectOwn();
    const parts = [...said].map(([id, families]) => (stuck.has(id) ? families.filter(isCount) : families));
    const ended = departed;
    const total = await mergeFamilies([ofPool, ...parts, ...ended]);
    if (ended.length > 1) {
      const joined = await mergeFamilies(ended);
      if (departed === ended) departed = [joined];
    }
    return total;
  };

  return {
    add(worker) {
      serving.set(worker.id, worker);
    },
    remove({ id }, died) {
      if (died) deaths += 1;
      serving.delete(id);
      const counts = (said.get(id) ?? []).filter(isCount);
      said.delete(id);
      if (counts.length > 0) departed = [...departed, counts];
    },
    hear(worker, message) {
      if ('measured' in message) return awaited.get(message.for)?.(message.measured);
      if (serving.has(worker.id)) said.set(worker.id, message.own);
      gather(worker).then(
        (gathered) => worker.send({ gathered, for: message.gather }, () => {}),
        () => {}, // it waits in vain, and says so
      );
    },
  };
}

/** What a gauge said last says nothing about now. */
function isCount({ type }: Family): boolean {
  return type !== 'gauge';
}
