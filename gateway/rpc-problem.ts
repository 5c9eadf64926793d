// Translates errors of RPCs to problems.
import type { DescMethod } from '@bufbuild/protobuf';
import type { Violation } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { Code, ConnectError } from '@connectrpc/connect';
import { type ErrorDetail, ErrorDetailSchema } from '../gen/hub/error/v1/error_pb.ts';
import { type FieldProblem, isProblemCode, Problem } from './problem.ts';

/** REST names of proto fields, where they differ from the proto name in lowerCamelCase. */
export type FieldNames = { readonly [protoName: string]: string };

/** The RPC that the request was translated to. */
type CalledRpc = { readonly rpc?: DescMethod | undefined; readonly fieldNames?: FieldNames | undefined };

/**
 * Returns the Problem for an error. A refusal of the hub keeps its code; a violated proto rule becomes
 * `invalid_request`; an RPC that could not be served becomes `unavailable`; any other error becomes
 * `internal`, without details and with the error as `cause`.
 */
export function toProblem(failure: unknown, called: CalledRpc = {}): Problem {
  if (failure instanceof Problem) return failure;
  if (!(failure instanceof ConnectError)) return internal(failure);
  const [detail] = failure.findDetails(ErrorDetailSchema);
  if (detail !== undefined) return refusal(detail, failure);
  if (failure.code === Code.InvalidArgument) {
    const errors = failure
      .findDetails(ViolationsSchema)
      .flatMap((found) => found.violations.map((violation) => fieldError(violation, called)));
    if (errors.length > 0) {
      const detailText = errors.map(({ field, detail: fix }) => `${field}: ${fix}`).join('; ');
      return new Problem('invalid_request', detailText, { errors, cause: failure });
    }
  }
  if (UNAVAILABLE.has(failure.code)) return unavailable(failure);
  return internal(failure);
}

/** The code of a refusal of the hub; undefined for any other error. */
export function errorCode(failure: unknown): string | undefined {
  return failure instanceof ConnectError ? failure.findDetails(ErrorDetailSchema)[0]?.code : undefined;
}

function refusal({ code, seats, field, allow }: ErrorDetail, failure: ConnectError): Problem {
  if (!isProblemCode(code)) return internal(failure);
  if (code === 'overloaded') return overloaded(failure);
  // Name the field only if the request is at fault.
  const names = field !== '' && failure.code === Code.InvalidArgument;
  return new Problem(code, names ? `${field}: ${failure.rawMessage}` : failure.rawMessage, {
    ...(seats && { seats: { limit: seats.limit, used: seats.used } }),
    ...(names && { errors: [{ field, detail: failure.rawMessage }] }),
    ...(allow !== '' && { headers: ['Allow', allow] }),
    cause: failure,
  });
}

const UNAVAILABLE: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
]);

const RETRY_AFTER_SECONDS = 5;
const SHED_SECONDS = 2;

export function unavailable(cause: unknown): Problem {
  return new Problem('unavailable', 'The hub cannot answer at the moment. Try again in a few seconds.', {
    headers: ['Retry-After', String(RETRY_AFTER_SECONDS)],
    cause,
  });
}

export function overloaded(cause?: unknown): Problem {
  return new Problem('overloaded', 'The hub is overloaded. Try again in a few seconds.', {
    headers: ['Retry-After', String(SHED_SECONDS)],
    cause,
  });
}

/**
 * The Problem for a client with too many connections. Not `overloaded`: the hub still serves other clients.
 */
export function tooManyConnections(): Problem {
  return new Problem('rate_limited', 'Too many connections from this address. Close some or reuse them.', {
    headers: ['Retry-After', String(SHED_SECONDS)],
    closes: true,
  });
}

function internal(cause: unknown): Problem {
  return new Problem(
    'internal',
    'Internal error. An operator can find the cause in the log by the request id.',
    { cause },
  );
}

function fieldError(violation: Violation, { rpc, fieldNames = {} }: CalledRpc): FieldProblem {
  const { fieldName = '', subscript } = violation.field?.elements[0] ?? {};
  // The key of a map entry is a field name from the request.
  const field =
    subscript?.case === 'stringKey' ? subscript.value : (fieldNames[fieldName] ?? lowerCamelCase(fieldName));
  return { field, detail: fix(violation, isOptional(rpc, fieldName)) };
}

// Only a missing or empty text violates a minimum length, so a clearer message replaces that rule's. Other
// rules have their own.
function fix({ ruleId, message }: Violation, optional: boolean): string {
  if (ruleId !== 'string.min_len') return message;
  return optional ? 'must not be empty: omit it or give a value' : 'is required and must not be empty';
}

/** Whether the contract distinguishes a missing field from an empty one. */
function isOptional(rpc: DescMethod | undefined, fieldName: string): boolean {
  return rpc?.input.fields.find(({ name }) => name === fieldName)?.proto.proto3Optional === true;
}

function lowerCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
