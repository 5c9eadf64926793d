// The interceptor that turns what the domain throws into Connect errors, in one table.
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { ErrorDetailSchema } from '../../gen/hub/error/v1/error_pb.ts';
import { requestIdKey } from '../access/caller.ts';
import { HUB_ERRORS, HubError, type HubErrorKind } from '../errors.ts';
import { isDatabaseUnavailable } from '../storage/outage.ts';
import { shortError } from './short-error.ts';

const CODES: Record<HubErrorKind, Code> = {
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  failed_precondition: Code.FailedPrecondition,
  resource_exhausted: Code.ResourceExhausted,
  permission_denied: Code.PermissionDenied,
  invalid_argument: Code.InvalidArgument,
  unavailable: Code.Unavailable,
};

/** With all that passes by itself: a header or a trailer, as the protocol has it. */
const RETRY_AFTER_SECONDS = '5';

/** Domain refusals keep their message and code; anything unforeseen is logged here and told to the caller as nothing. */
export function createErrorInterceptor(logger: Logger): Interceptor {
  return (next) => async (request) => {
    const translate = (error: unknown) => {
      if (request.signal.aborted && isHangUp(error)) return ConnectError.from(error, Code.Canceled);
      if (isUnreadable(error, request.header)) {
        return shortError(new ConnectError(error.rawMessage, Code.InvalidArgument));
      }
      const translated = toConnectError(error, (level, message) => {
        logger[level](
          { requestId: request.contextValues.get(requestIdKey), rpc: request.method.name, err: error },
          message,
        );
      });
      if (translated.code === Code.Unavailable) translated.metadata.set('Retry-After', RETRY_AFTER_SECONDS);
      return translated;
    };
    try {
      const response = await next(request);
      if (!response.stream) return response;
      return { ...response, message: translated(response.message, translate) };
    } catch (error) {
      throw translate(error);
    }
  };
}

/**
 * Whether a Connect stream brought a message that is none: the library calls that an internal error of ours. By gRPC it
 * stays one, which is what that standard says.
 */
function isUnreadable(error: unknown, header: Headers): error is ConnectError {
  return (
    error instanceof ConnectError &&
    error.code === Code.Internal &&
    /^(parse binary: |decompression failed|received compressed envelope)/.test(error.rawMessage) &&
    (header.get('content-type') ?? '').startsWith('application/connect+')
  );
}

/** A stream fails while it is read: after its call was answered. */
async function* translated<T>(messages: AsyncIterable<T>, translate: (error: unknown) => ConnectError) {
  try {
    yield* messages;
  } catch (error) {
    throw translate(error);
  }
}

/** An answer that could not be written, to a caller who has left in the middle of it. */
function isHangUp(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error)) return false;
  if (LEFT_BEFORE.has(error.code)) return true;
  return 'syscall' in error && error.syscall === 'write' && HANG_UPS.has(error.code);
}

/** Left before the answer was begun to be written, by HTTP/1.1 and by HTTP/2, or in the middle of a stream of requests. */
const LEFT_BEFORE: ReadonlySet<unknown> = new Set([
  'ERR_STREAM_DESTROYED',
  'ERR_HTTP2_INVALID_STREAM',
  'ERR_STREAM_PREMATURE_CLOSE',
]);
const HANG_UPS: ReadonlySet<unknown> = new Set(['ECANCELED', 'EPIPE', 'ECONNRESET']);

function toConnectError(
  error: unknown,
  log: (level: 'warn' | 'error', message: string) => void,
): ConnectError {
  if (error instanceof HubError) return shortError(refusal(error));
  if (error instanceof ConnectError) return shortError(error);
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
    sessionId: error.sessionId ?? '',
    ...(error.seats && { seats: error.seats }),
  });
  return new ConnectError(error.message, CODES[HUB_ERRORS[error.code]], undefined, [
    { desc: ErrorDetailSchema, value: detail },
  ]);
}
