// Tells of RPCs: of those served here, and of those asked of a core in another process.
import type { Interceptor } from '@connectrpc/connect';
import { coreCalls, rpcs } from './channels.ts';

/** The outermost of the interceptors, so that what they log and look up is part of it. */
export const traceServed: Interceptor = (next) => (request) =>
  isOwn(request) ? rpcs.tracePromise(next, { request }, undefined, request) : next(request);

export const traceAsked: Interceptor = (next) => (request) =>
  coreCalls.tracePromise(next, { request }, undefined, request);

/** Health and reflection are asked by machines, all the time. */
function isOwn({ service }: Parameters<ReturnType<Interceptor>>[0]): boolean {
  return service.typeName.startsWith('hub.');
}
