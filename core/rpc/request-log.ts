// Gives every request on the RPC port an id, and one line in the log.
import { randomUUID } from 'node:crypto';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { callerKey, requestIdKey } from '../access/caller.ts';
import type { Handler } from './listener.ts';

const HEADER = 'x-request-id';

export type RequestLog = {
  /** Logs the RPCs that reach their service. */
  readonly interceptor: Interceptor;
  /** Gives each request its id, and logs those that never become an RPC: no token, no such path, no such message. */
  wrap(handler: Handler): Handler;
};

/** A caller's own `x-request-id` is kept if it is short and plain, so that its log and ours can be read together. */
export function createRequestLog(logger: Logger): RequestLog {
  const logged = new Set<string>();
  return {
    interceptor: (next) => async (request) => {
      const started = performance.now();
      const requestId = request.header.get(HEADER) ?? randomUUID();
      request.contextValues.set(requestIdKey, requestId);
      let code = 'ok';
      try {
        return await next(request);
      } catch (error) {
        code = Code[ConnectError.from(error).code] ?? 'Unknown';
        throw error;
      } finally {
        logged.add(requestId);
        const { name: rpc, parent } = request.method;
        const caller = request.contextValues.get(callerKey)?.name;
        logger.info({ requestId, rpc: `${parent.typeName}/${rpc}`, caller, code, ms: since(started) }, 'rpc');
      }
    },

    wrap: (handler) => (request, response) => {
      const started = performance.now();
      const requestId = acceptRequestId(request.headers[HEADER]) ?? randomUUID();
      request.headers[HEADER] = requestId;
      response.setHeader(HEADER, requestId);
      response.once('close', () => {
        if (logged.delete(requestId)) return;
        const path = request.url?.split('?', 1)[0]?.slice(0, 200);
        logger.info({ requestId, path, status: response.statusCode, ms: since(started) }, 'rpc refused');
      });
      handler(request, response);
    },
  };
}

function since(started: number): number {
  return Math.round((performance.now() - started) * 100) / 100;
}

function acceptRequestId(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && /^[\w.-]{8,64}$/.test(value) ? value : undefined;
}
