// What orchestrators ask: whether the process is up, and whether the hub behind it can serve.
import { createClient, type Transport } from '@connectrpc/connect';
import { Health, HealthCheckResponse_ServingStatus } from '../gen/grpc/health/v1/health_pb.ts';
import type { Answer, Call, Route } from './routes.ts';
import { unavailable } from './rpc-problem.ts';

/** `/healthz` and `/readyz`; the latter asks grpc.health.v1.Health behind `transport`. */
export function healthRoutes(transport: Transport): Route[] {
  const health = createClient(Health, transport);

  const ready = async ({ requestId, signal }: Call): Promise<Answer> => {
    const options = {
      headers: { 'x-request-id': requestId },
      timeoutMs: TIMEOUT_MS,
      ...(signal && { signal }),
    };
    const response = await health.check({}, options).catch((failure: unknown) => {
      throw unavailable(failure);
    });
    if (response.status !== HealthCheckResponse_ServingStatus.SERVING) {
      throw unavailable(new Error(`the hub reports health status ${response.status}`));
    }
    return OK;
  };

  return [
    { method: 'GET', pattern: '/healthz', limited: false, handle: () => OK },
    { method: 'GET', pattern: '/readyz', limited: false, handle: ready },
  ];
}

/** Probes usually wait a few seconds at most. */
const TIMEOUT_MS = 2000;

const OK: Answer = { status: 200, contentType: 'application/json', body: '{"ok":true}' };
