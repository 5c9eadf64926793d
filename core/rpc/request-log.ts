// Gives every RPC an id, and one line in the log.

import { randomUUID } from 'node:crypto';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { callerKey, requestIdKey } from '../access/caller.ts';

const HEADER = 'x-request-id';

/** A caller's own `x-request-id` is kept if it is short and plain, so that its log and ours can be read together. */
export function createRequestLogInterceptor(logger: Logger): Interceptor {
  return (next) => async (request) => {
    const started = performance.now();
    const requestId = acceptRequestId(request.header.get(HEADER)) ?? randomUUID();
    request.contextValues.set(requestIdKey, requestId);
    let code = 'ok';
    try {
      const response = await next(request);
      response.header.set(HEADER, requestId);
      return response;
    } catch (error) {
      const connectError = ConnectError.from(error);
      connectError.metadata.set(HEADER, requestId);
      code = Code[connectError.code] ?? 'Unknown';
      throw connectError;
    } finally {
      logger.info(
        {
          requestId,
          rpc: `${request.method.parent.typeName}/${request.method.name}`,
          caller: request.contextValues.get(callerKey)?.name,
          code,
          ms: Math.round((performance.now() - started) * 100) / 100,
        },
        'rpc',
      );
    }
  };
}

function acceptRequestId(value: string | null): string | undefined {
  return value !== null && /^[\w.-]{8,64}$/.test(value) ? value : undefined;
}
