// Keeps the OpenTelemetry context across awaits. Registered only while tracing is on: AsyncLocalStorage costs time.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, ROOT_CONTEXT } from '@opentelemetry/api';

export function createContextManager(): ContextManager {
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (context, work, thisArg, ...args) => storage.run(context, () => work.apply(thisArg, args)),
    bind<T>(context: Context, target: T): T {
      if (typeof target !== 'function') return target;
      const bound = (...args: unknown[]) => storage.run(context, () => target(...args));
      return bound as T;
    },
    enable: () => manager,
    disable() {
      storage.disable();
      return manager;
    },
  };
  return manager;
}
