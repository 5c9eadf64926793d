// What a failed call means: the hub was not reached, did not admit us, or refused the request.
import type { FieldPath } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { Code, ConnectError } from '@connectrpc/connect';
import { ErrorDetailSchema } from '../gen/hub/error/v1/error_pb.ts';
import type { Circumstances, Failure } from './describe-error.ts';
import { EXIT } from './failure.ts';
import type { Target } from './target.ts';

/** A request field that breaks a rule of the contract. */
export type FieldError = {
  /** As the command calls it, `--seats` for example. */
  readonly field: string;
  readonly message: string;
};

export function describeConnectError(thrown: Error, { target, nameOf }: Circumstances): Failure {
  const error = ConnectError.from(thrown);
  const server = target?.server ?? 'the hub';
  const network = networkCause(error);
  if (network !== undefined) return unreachable(server, network);

  const code = snakeCase(Code[error.code]);
  const failed = { code, message: error.rawMessage, exitCode: EXIT.failed };
  switch (error.code) {
    case Code.Unauthenticated:
      return { ...failed, message: unauthenticated(server, target), exitCode: EXIT.notAllowed };
    case Code.PermissionDenied:
      return {
        ...failed,
        message: `${error.rawMessage} (Token from ${target?.token?.from}.)`,
        exitCode: EXIT.notAllowed,
      };
    case Code.DeadlineExceeded:
      return {
        ...failed,
        message: `The hub at ${server} did not answer in time.`,
        exitCode: EXIT.unreachable,
      };
    case Code.Unimplemented:
      return {
        ...failed,
        message: `${server} does not know this call (${error.rawMessage}). Is it the hub's internal port, and the hub as new as hubctl?`,
      };
    default:
      return { ...failed, ...refusal(error, nameOf) };
  }
}

/** What the hub says about a request it refuses. */
function refusal(error: ConnectError, nameOf: (field: string) => string): Partial<Failure> {
  const [violated] = error.findDetails(ViolationsSchema);
  if (violated !== undefined) {
    const violations = violated.violations.map(({ field, message }) => fieldError(field, message, nameOf));
    const lines = violations.map(({ field, message }) => `${field}: ${message}`);
    return { message: lines.join('\n'), violations };
  }
  const [detail] = error.findDetails(ErrorDetailSchema);
  if (detail === undefined) return {};
  return {
    code: detail.code,
    ...(detail.field !== '' && { field: nameOf(detail.field) }),
    ...(detail.seats && { seats: { limit: detail.seats.limit, used: detail.seats.used } }),
  };
}

function fieldError(
  path: FieldPath | undefined,
  message: string,
  nameOf: (field: string) => string,
): FieldError {
  const element = path?.elements[0];
  const name = nameOf(
    (element?.fieldName ?? '').replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
  );
  const field = element?.subscript.case === 'stringKey' ? `${name} ${element.subscript.value}` : name;
  return { field, message };
}

/** The error of the operating system at the bottom, if that is what it was. */
function networkCause(error: Error): { code: string; message: string } | undefined {
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string')
      return { code: cause.code, message: cause.message };
  }
  return undefined;
}

function unreachable(server: string, { code, message }: { code: string; message: string }): Failure {
  const why = code === 'ECONNREFUSED' ? '' : ` (${message || code})`;
  return {
    code: 'hub_unreachable',
    message: `No hub answers at ${server}${why}. Start one with \`hubctl serve\` or \`hubctl demo\`, or name another with --server / HUBCTL_SERVER.`,
    exitCode: EXIT.unreachable,
  };
}

function unauthenticated(server: string, target: Target | undefined): string {
  const remedy =
    'Give one with --token / HUBCTL_TOKEN, or name the data directory of a local hub with --data-dir.';
  if (target?.token !== undefined) {
    return `The hub at ${server} does not accept the token from ${target.token.from}. ${remedy}`;
  }
  return [`The hub at ${server} wants a token.`, target?.withheld, remedy].filter((part) => part).join(' ');
}

function snakeCase(name: string | undefined): string {
  return (name ?? 'unknown').replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
