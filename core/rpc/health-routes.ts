// GET /healthz and /readyz on the RPC port, for those who probe by HTTP: Kubernetes asks grpc.health.v1.Health without TLS only.
import type { Handler } from './listener.ts';

/**
 * In front of `handler`, for anybody, by HTTP/1.1 and HTTP/2; not logged. The answers are those of the gateway's routes.
 * @param isReady Whether the hub can do its work right now. Never throws.
 */
export function withHealthRoutes(handler: Handler, isReady: () => Promise<boolean>): Handler {
  const looks: Readonly<Record<string, () => Promise<boolean>>> = {
    '/healthz': async () => true,
    '/readyz': isReady,
  };
  return (request, response) => {
    const look = Object.hasOwn(looks, request.url ?? '') ? looks[request.url ?? ''] : undefined;
    if (look === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) {
      return handler(request, response);
    }
    void look().then((ok) => {
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
