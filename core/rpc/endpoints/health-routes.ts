// GET /healthz and /readyz on the RPC port, for probes over HTTP: Kubernetes calls grpc.health.v1.Health only
// without TLS.
import type { Handler } from '../server/handler.ts';

/**
 * Handles both routes before `handler`, without a token and without logging. The responses are those of the
 * gateway.
 * @param isReady Whether the hub can handle requests. Never throws.
 */
export function withHealthRoutes(handler: Handler, isReady: () => Promise<boolean>): Handler {
  const checks: Readonly<Record<string, () => Promise<boolean>>> = {
    '/healthz': async () => true,
    '/readyz': isReady,
  };
  return (request, response) => {
    const check = Object.hasOwn(checks, request.url ?? '') ? checks[request.url ?? ''] : undefined;
    if (check === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) {
      return handler(request, response);
    }
    void check().then((ok) => {
      const body = JSON.stringify({ ok });
      response.statusCode = ok ? 200 : 503;
      response.setHeader('content-type', 'application/json');
      response.setHeader('content-length', body.length);
      response.setHeader('cache-control', 'no-store');
      if (!ok) response.setHeader('retry-after', '5');
      response.end(request.method === 'HEAD' ? '' : body);
    });
  };
}
