// What is done about every call: it is timed for --debug, and one that takes long says so.
import type { Interceptor } from '@connectrpc/connect';
import type { Debug } from './debug.ts';
import type { Interruption } from './interruption.ts';
import type { Progress } from './progress.ts';

/** Connect itself is not loaded here: errors of calls are told by their name. */
export function callInterceptors(
  server: string,
  debug: Debug,
  progress: Progress,
  interruption: Pick<Interruption, 'hold'>,
): Interceptor[] {
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
  // A call that changes something is waited for: the hub may have made the change, and its answer may hold a secret.
  const kept: Interceptor = (next) => (request) => {
    if (changesSomething(request.method)) interruption.hold();
    return next(request);
  };
  return [...(debug.on ? [timed] : []), waiting, kept];
}

/** Whether an RPC may change something in the hub. By their names the others only read; a test compares them. */
export function changesSomething({ name }: { readonly name: string }): boolean {
  return !/^(Get|List|Watch|Export|Verify|Read|Summarize|Preview|Backtest|Inspect|Test)[A-Z]/.test(name);
}
