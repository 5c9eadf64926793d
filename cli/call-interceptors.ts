// What is done about every call: it is timed for --debug, and one that takes long says so.
import type { Interceptor } from '@connectrpc/connect';
import type { Debug } from './debug.ts';
import type { Progress } from './progress.ts';

/** Connect itself is not loaded here: errors of calls are told by their name. */
export function callInterceptors(server: string, debug: Debug, progress: Progress): Interceptor[] {
  const timed: Interceptor = (next) => async (request) => {
    const start = performance.now();
    const tell = (code: string, headers: Headers | undefined) =>
      debug.tell('call', {
        rpc: `${request.service.typeName}/${request.method.name}`,
        server,
        code,
        ms: Math.round(performance.now() - start),
        requestId: headers?.get('x-request-id') ?? undefined,
      });
    try {
      const response = await next(request);
      tell('ok', response.header);
      return response;
    } catch (error) {
      const metadata = error instanceof Error && 'metadata' in error ? error.metadata : undefined;
      tell('failed', metadata instanceof Headers ? metadata : undefined);
      throw error;
    }
  };
  const waiting: Interceptor = (next) => async (request) => {
    if (request.stream) return next(request); // a stream may be silent for as long as it likes
    const line = progress.show(() => `Waiting for ${server}`);
    try {
      return await next(request);
    } finally {
      line.end();
    }
  };
  return [...(debug.on ? [timed] : []), waiting];
}
