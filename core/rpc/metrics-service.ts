// MetricsService: what the hub measures, for programs that would rather not read Prometheus's text.
import type { ServiceImpl } from '@connectrpc/connect';
import { type MetricsService, MetricType } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import type { Family } from '../../metrics/family.ts';

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
            labels,
            value,
          })),
        })),
      };
    },
  };
}
