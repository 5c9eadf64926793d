// Gives every request on the RPC port an id, one line in the log, and a place in the figures.
import { randomUUID } from 'node:crypto';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import { callerFacts, requestIdKey } from '../access/caller.ts';
import type { Handler } from './listener.ts';
import { redacted } from './redact.ts';
import type { RpcMeter } from './rpc-meter.ts';

const HEADER = 'x-request-id';

export type RequestLog = {
  /** Logs the RPCs that reach their service. */
  readonly interceptor: Interceptor;
  /** Gives each request its id, and logs those that never become an RPC: no token, no such path, no such message, a page. */
  wrap(handler: Handler): Handler;
};

/** A caller's own `x-request-id` is kept if it is short and plain, so that its log and ours can be read together. */
export function createRequestLog(logger: Logger, meter: RpcMeter): RequestLog {
  /** Requests whose answers are open, by their ids. A call may outlive its request, and then leaves nothing here. */
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
        const asked = open.get(requestId);
        if (asked !== undefined) asked.isLogged = true;
        const { name, parent } = request.method;
        const { name: caller, kind: callerKind, ...who } = callerFacts(request.contextValues) ?? {};
        const ms = since(started);
        const outcome = code === undefined ? 'ok' : (Code[code] ?? 'Unknown');
        const rpc = `${parent.typeName}/${name}`;
        const level = parent.typeName === Health.typeName ? 'debug' : 'info';
        logger[level]({ requestId, rpc, caller, callerKind, ...who, code: outcome, ms }, 'rpc');
        meter.served(request.method, code, ms / 1_000);
      }
    },

    wrap: (handler) => (request, response) => {
      const started = performance.now();
      const requestId = acceptRequestId(request.headers[HEADER]) ?? randomUUID();
      request.headers[HEADER] = requestId;
      response.setHeader(HEADER, requestId);
      const asked: OpenRequest = { isLogged: false };
      open.set(requestId, asked);
      response.once('close', () => {
        if (open.get(requestId) === asked) open.delete(requestId);
        if (asked.isLogged) return;
        const path = request.url?.split('?', 1)[0]?.slice(0, 200);
        const status = response.statusCode;
        const isRefused = status >= 400;
        if (isRefused) meter.refused(status);
        logger.info({ requestId, path, status, ms: since(started) }, isRefused ? 'rpc refused' : 'request');
      });
      handler(request, response);
    },
  };
}

type OpenRequest = {
  /** As an RPC. */
  isLogged: boolean;
};

function since(started: number): number {
  return Math.round((performance.now() - started) * 100) / 100;
}

function acceptRequestId(value: string | string[] | undefined): string | undefined {
  return typeof value === 'string' && /^[\w.-]{8,64}$/.test(value) ? value : undefined;
}
