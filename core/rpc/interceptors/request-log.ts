// Gives every request on the RPC port an id, one line in the log, and counts it in the metrics.
import { randomUUID } from 'node:crypto';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { Health } from '../../../gen/grpc/health/v1/health_pb.ts';
import { callerFacts, requestIdKey } from '../../access/caller.ts';
import type { Handler } from '../server/handler.ts';
import type { RpcMetrics } from './metrics.ts';
import { redacted } from './redact.ts';

const HEADER = 'x-request-id';

export type RequestLog = {
  /** Logs the RPCs that reach their service. */
  readonly interceptor: Interceptor;
  /**
   * Gives each request its id, and logs those that do not become an RPC: no token, unknown path, invalid
   * message, console.
   */
  wrap(handler: Handler): Handler;
};

/**
 * Keeps the caller's `x-request-id` if it has 8 to 64 letters, digits, dots and dashes, so that its log and
 * the hub's can be correlated.
 */
export function createRequestLog(logger: Logger, metrics: RpcMetrics): RequestLog {
  /**
   * Requests with an open response, by id. A call may outlive its request, which is then no longer here.
   */
  const open = new Map<string, OpenRequest>();
  return {
    interceptor: (next) => async (request) => {
      const started = performance.now();
      const requestId = request.header.get(HEADER) ?? randomUUID();
      request.contextValues.set(requestIdKey, requestId);
      let code: Code | undefined;
      try {
        if (!logger.isLevelEnabled('trace') || request.stream) return await next(request);
        const { input, output } = request.method;
        logger.trace({ requestId, message: redacted(input, request.message) }, 'rpc request');
        const response = await next(request);
        if (!response.stream) {
          logger.trace({ requestId, message: redacted(output, response.message) }, 'rpc response');
        }
        return response;
      } catch (error) {
        code = ConnectError.from(error).code;
        throw error;
      } finally {
        const pending = open.get(requestId);
        if (pending !== undefined) pending.isLogged = true;
        const { name, parent } = request.method;
        const { name: caller, kind: callerKind, ...who } = callerFacts(request.contextValues) ?? {};
        const ms = since(started);
        const outcome = code === undefined ? 'ok' : (Code[code] ?? 'Unknown');
        const rpc = `${parent.typeName}/${name}`;
        const level = parent.typeName === Health.typeName ? 'debug' : 'info';
        logger[level]({ requestId, rpc, caller, callerKind, ...who, code: outcome, ms }, 'rpc');
        metrics.served(request.method, code, ms / 1_000);
      }
    },

    wrap: (handler) => (request, response) => {
      const started = performance.now();
      const requestId = acceptRequestId(request.headers[HEADER]) ?? randomUUID();
      request.headers[HEADER] = requestId;
      response.setHeader(HEADER, requestId);
      const pending: OpenRequest = { isLogged: false };
      open.set(requestId, pending);
      response.once('close', () => {
        if (open.get(requestId) === pending) open.delete(requestId);
        if (pending.isLogged) return;
        const path = request.url?.split('?', 1)[0]?.slice(0, 200);
        const status = response.statusCode;
        const isRefused = status >= 400;
        if (isRefused) metrics.refused(status);
        logger.info({ requestId, path, status, ms: since(started) }, isRefused ? 'rpc refused' : 'request');
      });
      handler(request, response);
    },
  };
}

type OpenRequest = {
  /** The interceptor has logged it as an RPC. */
  isLogged: boolean;
};

function since(started: number): number {
  return Math.round((performance.now() - started) * 100) / 100;
}

function acceptRequestId(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && /^[\w.-]{8,64}$/.test(value) ? value : undefined;
}
