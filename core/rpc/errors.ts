// The interceptor that turns what the domain throws into Connect errors, in one table.
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { ErrorDetailSchema } from '../../gen/hub/error/v1/error_pb.ts';
import { requestIdKey } from '../access/caller.ts';
import { HUB_ERRORS, HubError, type HubErrorKind } from '../errors.ts';
import { isDatabaseUnavailable } from '../storage/outage.ts';

const CODES: Record<HubErrorKind, Code> = {
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  failed_precondition: Code.FailedPrecondition,
  resource_exhausted: Code.ResourceExhausted,
  permission_denied: Code.PermissionDenied,
  invalid_argument: Code.InvalidArgument,
  unavailable: Code.Unavailable,
};

/** Domain refusals keep their message and code; anything unforeseen is logged here and told to the caller as nothing. */
export function createErrorInterceptor(logger: Logger): Interceptor {
  return (next) => async (request) => {
    const translate = (error: unknown) =>
      toConnectError(error, (level, message) => {
        logger[level](
          { requestId: request.contextValues.get(requestIdKey), rpc: request.method.name, err: error },
          message,
        );
      });
    try {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: translated(response.message, translate) };
    } catch (error) {
      throw translate(error);
    }
  };
}

/** A stream fails while it is read: after its call was answered. */
async function* translated<T>(messages: AsyncIterable<T>, translate: (error: unknown) => ConnectError) {
  try {
    yield* messages;
  } catch (error) {
    throw translate(error);
  }
}

function toConnectError(
  error: unknown,
  log: (level: 'warn' | 'error', message: string) => void,
): ConnectError {
  if (error instanceof HubError) return refusal(error);
  if (error instanceof ConnectError) return error;
  if (isDatabaseUnavailable(error)) {
    log('warn', 'the database did not answer');
    return new ConnectError('the hub cannot reach its database; try again', Code.Unavailable);
  }
  log('error', 'unforeseen error');
  return new ConnectError('internal error', Code.Internal);
}

function refusal(error: HubError): ConnectError {
  const detail = create(ErrorDetailSchema, {
    code: error.code,
    field: error.field ?? '',
    allow: error.allow ?? '',
    ...(error.seats && { seats: error.seats }),
  });
  return new ConnectError(error.message, CODES[HUB_ERRORS[error.code]], undefined, [
    { desc: ErrorDetailSchema, value: detail },
  ]);
}
