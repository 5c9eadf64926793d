// Truncates errors that quote a request, so that they fit the headers in which gRPC sends them.
import { create } from '@bufbuild/protobuf';
import { type Violation, ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { ConnectError } from '@connectrpc/connect';

// Clients accept at least 8 KiB of headers, where a character takes up to nine bytes.
const MESSAGE_LENGTH = 400;
const VIOLATIONS = 6;
const KEY_LENGTH = 64;

/**
 * Returns the error itself if it is short; else one with the start of its message and the first violations.
 */
export function truncateError(error: ConnectError): ConnectError {
  const violations = error.findDetails(ViolationsSchema).flatMap((found) => found.violations);
  const isLong = violations.length > VIOLATIONS || violations.some(hasLongKey);
  if (error.rawMessage.length <= MESSAGE_LENGTH && !isLong) return error;
  const value = create(ViolationsSchema, { violations: violations.slice(0, VIOLATIONS).map(withShortKeys) });
  const details = violations.length > 0 ? [{ desc: ViolationsSchema, value }] : outgoing(error);
  return new ConnectError(
    short(error.rawMessage, MESSAGE_LENGTH),
    error.code,
    error.metadata,
    details,
    error.cause,
  );
}

function outgoing({ details }: ConnectError) {
  return details.filter((detail) => 'desc' in detail);
}

function hasLongKey({ field }: Violation): boolean {
  const keys = field?.elements.map(({ subscript }) => subscript) ?? [];
  return keys.some((key) => key.case === 'stringKey' && key.value.length > KEY_LENGTH);
}

/** The path of a map entry contains its key, which the caller chooses. */
function withShortKeys(violation: Violation): Violation {
  for (const { subscript } of violation.field?.elements ?? []) {
    if (subscript.case === 'stringKey') subscript.value = short(subscript.value, KEY_LENGTH);
  }
  return violation;
}

function short(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}
