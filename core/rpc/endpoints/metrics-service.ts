// MetricsService: the metrics of the hub for programs that do not parse the text format of Prometheus.
import type { ServiceImpl } from '@connectrpc/connect';
import { type MetricsService, MetricType } from '../../../gen/hub/metrics/v1/metrics_service_pb.ts';
import type { Family } from '../../../lib/metrics/family.ts';

const TYPES: Readonly<Record<Family['type'], MetricType>> = {
  counter: MetricType.COUNTER,
  gauge: MetricType.GAUGE,
  histogram: MetricType.HISTOGRAM,
};

export function createMetricsService(collect: () => Promise<Family[]>): ServiceImpl<typeof MetricsService> {
  return {
    async readMetrics() {
      const families = await collect();
      return {
        families: families.map(({ name, help, type, values }) => ({
          name,
          help,
          type: TYPES[type],
          samples: values.map(({ metricName = name, labels, value }) => ({
            name: metricName,
            labels: Object.fromEntries(Object.entries(labels).map(([label, each]) => [label, String(each)])),
            value,
          })),
        })),
      };
    },
  };
}
