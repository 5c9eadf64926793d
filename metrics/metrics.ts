// All that a process measures. Made by whoever composes the process, and handed to those who count.
import { type Counter, createCounter } from './counter.ts';
import type { Family, Sample } from './family.ts';
import { createHistogram, type Histogram } from './histogram.ts';

export type Spec<L extends readonly string[] = readonly string[]> = {
  /** By the conventions of Prometheus: `hub_`, the thing, its unit, and `_total` if it only goes up. */
  readonly name: string;
  /** A sentence for whoever reads it at night. */
  readonly help: string;
  /** Never of ids, keys or whatever else callers choose: each set of values is kept for as long as the process lives. */
  readonly labels: L;
};

export type GaugeSpec = Omit<Spec, 'labels'> & {
  /** What the values of several processes are together; their sum if not given. */
  readonly together?: Family['aggregator'];
};

/** A number, or one for each set of labels; undefined: there is nothing to tell. */
export type Reading = number | undefined | readonly Sample[];

export type Metrics = {
  /** The one of this name: both ports may count the same thing. */
  counter<const L extends readonly string[]>(spec: Spec<L>): Counter<L>;
  histogram<const L extends readonly string[]>(
    spec: Spec<L> & { readonly bounds: readonly number[] },
  ): Histogram<L>;
  /** Read whenever somebody looks. */
  gauge(spec: GaugeSpec, read: () => Reading | Promise<Reading>): void;
  /** A counter that somebody else keeps. */
  tally(spec: Omit<GaugeSpec, 'together'>, read: () => number | readonly Sample[]): void;
  /** What every process would find the same, so that one of several looks for all: by their names. */
  common(specs: readonly GaugeSpec[], read: () => Promise<Readonly<Record<string, Reading>>>): void;
  /** Of this process. */
  collectOwn(): Promise<Family[]>;
  collectCommon(): Promise<Family[]>;
};

export function createMetrics(): Metrics {
  const own = new Map<string, () => Family | Promise<Family>>();
  const common: (() => Promise<Family[]>)[] = [];
  const counters = new Map<string, Counter<readonly string[]>>();
  const add = (name: string, read: () => Family | Promise<Family>): void => {
    if (own.has(name)) throw new Error(`${name} is measured twice`);
    own.set(name, read);
  };

  return {
    counter<const L extends readonly string[]>({ name, help, labels }: Spec<L>) {
      const known = counters.get(name);
      if (known !== undefined) return known as Counter<L>; // of the same specification
      const { of, read } = createCounter(labels);
      const counter: Counter<L> = { of };
      counters.set(name, counter as unknown as Counter<readonly string[]>); // as many values as it has labels
      add(name, () => ({ name, help, type: 'counter', aggregator: 'sum', values: read() }));
      return counter;
    },

    histogram({ name, help, labels, bounds }) {
      const { of, read } = createHistogram(name, labels, bounds);
      add(name, () => ({ name, help, type: 'histogram', aggregator: 'sum', values: read() }));
      return { of };
    },

    gauge(spec, read) {
      add(spec.name, async () => gaugeFamily(spec, await read()));
    },

    tally({ name, help }, read) {
      add(name, () => ({ name, help, type: 'counter', aggregator: 'sum', values: samplesOf(read()) }));
    },

    common(specs, read) {
      common.push(async () => {
        const readings = await read();
        return specs.map((spec) => gaugeFamily(spec, readings[spec.name]));
      });
    },

    collectOwn: () => Promise.all(Array.from(own.values(), (read) => read())),
    collectCommon: async () => (await Promise.all(common.map((read) => read()))).flat(),
  };
}

function gaugeFamily({ name, help, together = 'sum' }: GaugeSpec, reading: Reading): Family {
  return { name, help, type: 'gauge', aggregator: together, values: samplesOf(reading) };
}

function samplesOf(reading: Reading): readonly Sample[] {
  return typeof reading === 'number' ? [{ labels: {}, value: reading }] : (reading ?? []);
}

/** Adds what other processes have measured to what this one has. */
export type Gather = (own: Family[]) => Promise<Family[]>;

/** All there is to tell, of other processes too if there are any behind the same ports. */
export async function collectAll(metrics: Metrics, gather: Gather = async (own) => own): Promise<Family[]> {
  // First what is common: a look at the database also finds out what there may be to count.
  const common = await metrics.collectCommon();
  return [...(await gather(await metrics.collectOwn())), ...common];
}
