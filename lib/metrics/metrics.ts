// The metrics of one process: registries of prom-client, and how they are collected.
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Family, familiesOf, type Sample } from './family.ts';

export type MetricSpec<L extends string = string> = {
  /** Follows the conventions of Prometheus: `hub_`, the subject, its unit, and `_total` for a counter. */
  readonly name: string;
  readonly help: string;
  /**
   * Their values must come from a small fixed set, never from callers (ids, keys, paths): each combination is kept
   * for the life of the process.
   */
  readonly labelNames?: readonly L[];
};

export type GaugeSpec = MetricSpec & {
  /** How the values of several processes combine. Default: `sum`. */
  readonly aggregator?: Family['aggregator'];
};

/** A value without labels, or one for each set of labels; undefined exposes no sample. */
export type GaugeReading = number | undefined | readonly Sample[];

export type Metrics = {
  /** Returns the existing counter of that name if there is one: core and gateway share some. */
  counter<const L extends string = never>(spec: MetricSpec<L>): Counter<L>;
  histogram<const L extends string = never>(
    spec: MetricSpec<L> & { readonly buckets: readonly number[] },
  ): Histogram<L>;
  /** A gauge that calls `read` at each collection. */
  gauge(spec: GaugeSpec, read: () => GaugeReading | Promise<GaugeReading>): void;
  /** A counter kept elsewhere, whose value `read` returns at each collection. */
  observedCounter(spec: MetricSpec, read: () => number): void;
  /**
   * Gauges that every process would read alike, such as table sizes: one of several processes reads them for all.
   * `read` returns the readings by metric name.
   */
  commonGauges(
    specs: readonly GaugeSpec[],
    read: () => Promise<Readonly<Record<string, GaugeReading>>>,
  ): void;
  /** The metrics of this process, without the common gauges. */
  collectOwn(): Promise<Family[]>;
  collectCommon(): Promise<Family[]>;
};

export function createMetrics(): Metrics {
  const own = new Registry();
  const common = new Registry();
  const refreshes: (() => Promise<void>)[] = [];
  return {
    counter: (spec) => {
      const existing = own.getSingleMetric(spec.name);
      return existing instanceof Counter ? existing : new Counter({ ...spec, registers: [own] });
    },

    histogram: ({ buckets, ...spec }) => new Histogram({ ...spec, buckets: [...buckets], registers: [own] }),

    gauge(spec, read) {
      new Gauge({
        ...spec,
        registers: [own],
        async collect() {
          setReading(this, await read());
        },
      });
    },

    observedCounter(spec, read) {
      new Counter({
        ...spec,
        registers: [own],
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    },

    commonGauges(specs, read) {
      const gauges = specs.map((spec) => ({
        name: spec.name,
        gauge: new Gauge({ ...spec, registers: [common] }),
      }));
      refreshes.push(async () => {
        const readings = await read();
        for (const { name, gauge } of gauges) setReading(gauge, readings[name]);
      });
    },

    collectOwn: () => familiesOf(own),
    async collectCommon() {
      await Promise.all(refreshes.map((refresh) => refresh()));
      return familiesOf(common);
    },
  };
}

function setReading(gauge: Gauge, reading: GaugeReading): void {
  gauge.reset();
  if (typeof reading === 'number') gauge.set(reading);
  else if (reading === undefined)
    gauge.remove({}); // a reset gauge without labels is 0, not absent
  else for (const { labels, value } of reading) gauge.set(labels, value);
}

/** Adds the metrics of the other processes to those of this one. */
export type Gather = (own: Family[]) => Promise<Family[]>;

/** Collects everything a scrape shows, including the other processes that serve the same ports. */
export async function collectAll(metrics: Metrics, gather: Gather = async (own) => own): Promise<Family[]> {
  // Reading the common gauges may add counters, as for a slot that another process created.
  const common = await metrics.collectCommon();
  return [...(await gather(await metrics.collectOwn())), ...common];
}
