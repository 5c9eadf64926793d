// Interceptors for every call: timing for --debug, and a progress line for slow calls.
import type { Interceptor } from '@connectrpc/connect';
import type { Debug } from '../errors/debug.ts';
import type { Interruption } from '../interrupt/interruption.ts';
import type { Progress } from '../output/progress.ts';

/** Does not load Connect: recognizes errors by their name. */
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
    if (request.stream) return next(request); // a stream can be silent for any time
    const line = progress.show(() => `Waiting for ${server}`);
    try {
      return await next(request);
    } finally {
      line.end();
    }
  };
  // Wait for a call that changes something: its answer may contain a secret.
  const kept: Interceptor = (next) => (request) => {
    if (changesSomething(request.method)) interruption.hold();
    return next(request);
  };
  return [...(debug.on ? [timed] : []), waiting, kept];
}

/**
 * Whether an RPC may change data. The names of all others start with a verb of reading; a test checks that.
 */
export function changesSomething({ name }: { readonly name: string }): boolean {
  return !/^(Get|List|Watch|Export|Verify|Read|Summarize|Preview|Backtest|Inspect|Test)[A-Z]/.test(name);
}
