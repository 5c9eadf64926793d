// The standard gRPC health service: SERVING while the database responds.
import type { DescService } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import {
  type Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../gen/grpc/health/v1/health_pb.ts';
import { createStatusWatch } from './status-watch.ts';

/**
 * With HTTP/2, a client that does not read fails a ping and is disconnected. HTTP/1.1 has no pings, so a
 * watch with Connect or gRPC-Web ends after this time and the client starts another. gRPC clients treat an
 * end as a failure.
 */
const MAX_WATCH_MS = 3_600_000;

export type HealthOptions = {
  readonly services: readonly DescService[];
  /** Whether the hub can handle requests. Never throws. */
  readonly isReady: () => Promise<boolean>;
  /** Maximum duration of a watch without gRPC. */
  readonly maxWatchMs?: number;
};

export function createHealthService(options: HealthOptions): ServiceImpl<typeof Health> {
  const { services, isReady, maxWatchMs = MAX_WATCH_MS } = options;
  // The empty name stands for the whole server.
  const known = new Set(['', ...services.map((service) => service.typeName)]);
  const current = async (): Promise<ServingStatus> =>
    (await isReady()) ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  const nextStatus = createStatusWatch(current);
  return {
    async check({ service }) {
      if (!known.has(service)) throw new ConnectError(`no service "${service}" here`, Code.NotFound);
      return { status: await current() };
    },
    async list() {
      const status = await current();
      return { statuses: Object.fromEntries([...known].map((name) => [name, { status }])) };
    },
    async *watch({ service }, { signal, protocolName }) {
      const endsAt = protocolName === 'grpc' ? Number.POSITIVE_INFINITY : performance.now() + maxWatchMs;
      let status = known.has(service) ? await current() : ServingStatus.SERVICE_UNKNOWN;
      while (!signal.aborted && performance.now() < endsAt) {
        yield { status };
        status = await nextStatus(status, { signal, endsAt });
      }
    },
  };
}
