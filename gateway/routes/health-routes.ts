// Serves the health probes: liveness of the process and readiness of the hub.
import { createClient, type Transport } from '@connectrpc/connect';
import { Health, HealthCheckResponse_ServingStatus } from '../../gen/grpc/health/v1/health_pb.ts';
import { shareRead } from '../../lib/net/share-read.ts';
import { unavailable } from '../rpc-problem.ts';
import type { Operation } from './openapi-operation.ts';
import type { Route, RouteResponse } from './route.ts';

/**
 * `/healthz` and `/readyz`. Readiness calls grpc.health.v1.Health through `transport`, and then `checkAccess`. It fails
 * while requests are shed or the hub drains. The probes are not rate-limited, so concurrent ones share one check.
 */
export function healthRoutes(
  transport: Transport,
  isUnavailable: () => boolean,
  checkAccess: () => Promise<void> = async () => {},
): Route[] {
  const health = createClient(Health, transport);

  const look = shareRead(() => health.check({}, { timeoutMs: TIMEOUT_MS }), MAX_AGE_MS);

  const check = async (): Promise<void> => {
    if (isUnavailable()) throw new Error('requests are shed, or the hub starts or stops');
    const { status } = await look();
    if (status !== HealthCheckResponse_ServingStatus.SERVING)
      throw new Error(`the hub reports health status ${status}`);
    await checkAccess();
  };
  const ready = async (): Promise<RouteResponse> => {
    await check().catch((failure: unknown) => {
      throw unavailable(failure);
    });
    return OK;
  };

  return [
    { method: 'GET', pattern: '/healthz', limited: false, isProbe: true, about: ABOUT.up, handle: () => OK },
    { method: 'GET', pattern: '/readyz', limited: false, isProbe: true, about: ABOUT.ready, handle: ready },
  ];
}

/** Probes usually time out after a few seconds. */
const TIMEOUT_MS = 2_000;
/** Probes usually repeat every few seconds, at most once a second. */
const MAX_AGE_MS = 500;

const OK: RouteResponse = { status: 200, contentType: 'application/json', body: '{"ok":true}' };

const RESPONSE = { description: 'Yes.', members: { ok: { type: 'boolean', const: true } } };
const ABOUT = {
  up: {
    id: 'isUp',
    tag: 'Health',
    summary: 'Check that the process is running',
    description: 'Use it as a liveness probe. It does not check the database.',
    response: RESPONSE,
    problems: [],
  },
  ready: {
    id: 'isReady',
    tag: 'Health',
    summary: 'Check that the hub is ready for requests',
    description:
      'Use it as a readiness probe and for load balancers. The hub is not ready while it sheds requests, and after it is asked to stop. A separate gateway is not ready while the core refuses its token.',
    response: RESPONSE,
    problems: ['unavailable'],
  },
} as const satisfies { [name: string]: Operation };
