// What is measured, as it is told: families of samples, in the form that prom-client reads and processes exchange.

export type Sample = {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Where it is not the family's own: the buckets, the sum and the count of a histogram. */
  readonly metricName?: string;
};

export type Family = {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** What the values of several processes are together. */
  readonly aggregator: 'sum' | 'max' | 'min';
  readonly values: readonly Sample[];
};
