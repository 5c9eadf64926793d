// The standard gRPC health service: serving while the database answers.
import type { DescService } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import {
  type Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../gen/grpc/health/v1/health_pb.ts';

const WATCH_INTERVAL_MS = 1_000;

export type HealthOptions = {
  readonly services: readonly DescService[];
  /** Whether the hub can do its work right now. Never throws. */
  readonly isReady: () => Promise<boolean>;
};

export function createHealthService({ services, isReady }: HealthOptions): ServiceImpl<typeof Health> {
  // The empty name stands for the whole server.
  const known = new Set(['', ...services.map((service) => service.typeName)]);
  const current = async (): Promise<ServingStatus> =>
    (await isReady()) ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  return {
    async check({ service }) {
      if (!known.has(service)) throw new ConnectError(`no service "${service}" here`, Code.NotFound);
      return { status: await current() };
    },
    async list() {
      const status = await current();
      return { statuses: Object.fromEntries([...known].map((name) => [name, { status }])) };
    },
    async *watch({ service }, { signal }) {
      let last: ServingStatus | undefined;
      while (!signal.aborted) {
        const status = known.has(service) ? await current() : ServingStatus.SERVICE_UNKNOWN;
        if (status !== last) yield { status };
        last = status;
        await pause(WATCH_INTERVAL_MS, signal);
      }
    },
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
