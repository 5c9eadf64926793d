// The interceptor that maps errors of the domain to Connect errors.
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { ErrorDetailSchema } from '../../../gen/hub/error/v1/error_pb.ts';
import { requestIdKey } from '../../access/caller.ts';
import { HUB_ERRORS, HubError, type HubErrorKind } from '../../errors.ts';
import { isDatabaseUnavailable } from '../../storage/sql/transient-errors.ts';
import { truncateError } from './truncate-error.ts';

const CODES: Record<HubErrorKind, Code> = {
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  failed_precondition: Code.FailedPrecondition,
  resource_exhausted: Code.ResourceExhausted,
  permission_denied: Code.PermissionDenied,
  invalid_argument: Code.InvalidArgument,
  unavailable: Code.Unavailable,
};

/** With errors that are temporary; sent as a header or a trailer, depending on the protocol. */
const RETRY_AFTER_SECONDS = '5';

/**
 * A HubError keeps its message and code. An unexpected error is logged, and the caller gets no detail of it.
 */
export function createErrorInterceptor(logger: Logger): Interceptor {
  return (next) => async (request) => {
    const translate = (error: unknown) => {
      if (request.signal.aborted && isDisconnect(error)) return ConnectError.from(error, Code.Canceled);
      if (isUnreadable(error, request.header)) {
        return truncateError(new ConnectError(error.rawMessage, Code.InvalidArgument));
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
 * Whether a Connect stream sent an invalid message, which the library reports as an internal error. With gRPC
 * it stays one, as that protocol specifies.
 */
function isUnreadable(error: unknown, header: Headers): error is ConnectError {
  return (
    error instanceof ConnectError &&
    error.code === Code.Internal &&
    /^(parse binary: |decompression failed|received compressed envelope)/.test(error.rawMessage) &&
    (header.get('content-type') ?? '').startsWith('application/connect+')
  );
}

/** A stream fails while it is read, after its call has returned. */
async function* translated<T>(messages: AsyncIterable<T>, translate: (error: unknown) => ConnectError) {
  try {
    yield* messages;
  } catch (error) {
    throw translate(error);
  }
}

/** Whether a response could not be written because the client disconnected. */
function isDisconnect(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error)) return false;
  if (CLOSED_EARLY.has(error.code)) return true;
  return 'syscall' in error && error.syscall === 'write' && WRITE_FAILURES.has(error.code);
}

/**
 * The client disconnected before the response began, with HTTP/1.1 and HTTP/2, or while it streamed requests.
 */
const CLOSED_EARLY: ReadonlySet<unknown> = new Set([
  'ERR_STREAM_DESTROYED',
  'ERR_HTTP2_INVALID_STREAM',
  'ERR_STREAM_PREMATURE_CLOSE',
]);
const WRITE_FAILURES: ReadonlySet<unknown> = new Set(['ECANCELED', 'EPIPE', 'ECONNRESET']);

function toConnectError(
  error: unknown,
  log: (level: 'warn' | 'error', message: string) => void,
): ConnectError {
  if (error instanceof HubError) return truncateError(refusal(error));
  if (error instanceof ConnectError) return truncateError(error);
  if (isDatabaseUnavailable(error)) {
    log('warn', 'the database did not answer');
    return new ConnectError('the hub cannot reach its database; try again', Code.Unavailable);
  }
  log('error', 'unexpected error');
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
