// Describes a failed call: the hub was unreachable, denied access, or refused the request.
import type { FieldPath } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { ViolationsSchema } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { Code, ConnectError } from '@connectrpc/connect';
import { type ErrorDetail, ErrorDetailSchema } from '../../gen/hub/error/v1/error_pb.ts';
import type { Target } from '../connect/choose-hub.ts';
import { type Given, innermostOf } from '../parse/field-names.ts';
import { LISTED_BY, otherKind, secretKind } from '../parse/id-kinds.ts';
import type { ErrorContext, Failure, FieldError } from './error-document.ts';
import { EXIT } from './failure.ts';

export function describeConnectError(thrown: Error, { target, givenFor }: ErrorContext): Failure {
  const error = ConnectError.from(thrown);
  const server = target?.server ?? 'the hub';
  const network = networkCause(error);
  if (network !== undefined) return unreachable(server, network, target);

  const { rawMessage } = error;
  const failure = (exitCode: number, message: string, code = snakeCase(Code[error.code])): Failure => ({
    code,
    message,
    exitCode,
  });
  if (OF_NO_HUB.test(rawMessage) && !SAID_BY_A_HUB_TOO.includes(error.code)) {
    const message = `The server at ${server} is not a hub and does not lead to one (${rawMessage}).`;
    return failure(EXIT.unreachable, message, 'not_a_hub');
  }
  switch (error.code) {
    case Code.Unauthenticated:
      return failure(EXIT.notAllowed, unauthenticated(server, target));
    case Code.PermissionDenied:
      return failure(EXIT.notAllowed, `${rawMessage} (Token from ${target?.token?.from}.)`);
    case Code.DeadlineExceeded:
      return failure(EXIT.unreachable, `The hub at ${server} did not answer in time.`);
    case Code.Unimplemented:
      return failure(
        EXIT.failed,
        `${server} does not know this call (${rawMessage}). Check that it is the hub's internal port, and that the hub is as new as hubctl.`,
      );
    case Code.InvalidArgument:
      return { ...failure(EXIT.usage, rawMessage), ...refusal(error, givenFor) };
    default:
      return { ...failure(EXIT.failed, rawMessage), ...refusal(error, givenFor) };
  }
}

/** Connect's errors for a response of another protocol: of a proxy, a login page, or another server. */
const OF_NO_HUB = /^(HTTP \d{3}$|unsupported content type |parse binary|message size is larger )/;
/** A hub without this call, or behind an authenticating proxy, also answers with a status only. */
const SAID_BY_A_HUB_TOO: readonly Code[] = [Code.Unimplemented, Code.Unauthenticated];

/** The error from the details that the hub sent. */
function refusal(error: ConnectError, givenFor: ErrorContext['givenFor']): Partial<Failure> {
  const [violated] = error.findDetails(ViolationsSchema);
  if (violated !== undefined) {
    const violations = violated.violations.map(({ field, message }) => fieldError(field, message, givenFor));
    const lines = violations.map(({ field, message }) => `${field}: ${message}`);
    return { message: lines.join('\n'), violations };
  }
  const [detail] = error.findDetails(ErrorDetailSchema);
  if (detail === undefined) return {};
  const given = givenFor(detail.field);
  const isUnknown = error.code === Code.NotFound && typeof given?.value === 'string';
  return {
    code: detail.code,
    ...(isUnknown && { unknown: { kind: given.kind, value: String(given.value) } }),
    message: given ? about(error, detail.field, given) : error.rawMessage,
    ...(detail.field !== '' && { field: given?.name ?? detail.field }),
    ...(detail.sessionId !== '' && {
      sessionId: detail.sessionId,
      message: `${error.rawMessage}. ${leftBehind(detail)}`,
    }),
    ...(detail.seats && { seats: { limit: detail.seats.limit, used: detail.seats.used } }),
  };
}

/** The state of the charge session that the failed request left behind. */
function leftBehind({ code, sessionId }: ErrorDetail): string {
  const left = `The session ${sessionId} has no checkout`;
  if (code !== 'provider_unavailable') return `${left}.`;
  return `${left} yet: repeat the call with the same --idempotency-key to create it. Without a key, a repeat creates another session.`;
}

/** The error with the option or argument at fault. */
function about({ code, rawMessage }: ConnectError, field: string, { name, isOption, value }: Given): string {
  if (code !== Code.NotFound || typeof value !== 'string' || rawMessage.includes(JSON.stringify(value))) {
    return `${name}: ${rawMessage}`;
  }
  const secret = secretKind(value);
  if (secret !== undefined) return `${name}: ${secret}`;
  const kind = innermostOf(field);
  const list = LISTED_BY[kind];
  const said = otherKind(kind, value) ?? (list ? `${rawMessage}: see \`hubctl ${list}\`` : rawMessage);
  return isOption ? `${name} ${value}: ${said}` : `${value}: ${said}`;
}

function fieldError(
  path: FieldPath | undefined,
  message: string,
  givenFor: ErrorContext['givenFor'],
): FieldError {
  const elements = path?.elements ?? [];
  const inRequest = elements
    .map(({ fieldName = '' }) => fieldName.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()))
    .join('.');
  const name = givenFor(inRequest)?.name ?? inRequest;
  const key = elements.at(-1)?.subscript;
  return { field: key?.case === 'stringKey' ? `${name} ${key.value}` : name, message };
}

/** The operating system's error at the end of the chain of causes. */
function networkCause(error: Error): { code: string; message: string } | undefined {
  for (let cause: unknown = error.cause; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && typeof cause.code === 'string')
      return { code: cause.code, message: cause.message };
  }
  return undefined;
}

function unreachable(
  server: string,
  { code, message }: { code: string; message: string },
  target: Target | undefined,
): Failure {
  const failure = (text: string, errorCode = 'hub_unreachable'): Failure => ({
    code: errorCode,
    message: text,
    exitCode: EXIT.unreachable,
  });
  if (/CERT|SIGNATURE|ISSUER/.test(code)) {
    return failure(
      `The certificate of the hub at ${server} is not trusted (${message}). Give the certificate of its issuer with --ca / HUBCTL_CA.`,
      'hub_untrusted',
    );
  }
  // OpenSSL's message for a plaintext answer names its own source files, over two lines.
  if (code === 'EPROTO' && /wrong version number/.test(message)) {
    const plaintext = server.replace(/^https:/, 'http:');
    return failure(`The server at ${server} does not use TLS. Try ${plaintext}.`);
  }
  if (/^(ECONNRESET|EPIPE)$/.test(code) && server.startsWith('http:')) {
    const encrypted = server.replace(/^http:/, 'https:');
    return failure(`The server at ${server} closes the connection. If it uses TLS, try ${encrypted}.`);
  }
  const reason = code === 'ENOTFOUND' ? 'the host name does not resolve' : message || code;
  const why = code === 'ECONNREFUSED' ? '' : ` (${reason})`;
  const { context, guessedFor } = target ?? {};
  if (context !== undefined) {
    const remedy = `If its address has changed, run \`hubctl context add ${context} --force\`.`;
    return failure(`No hub answers at ${server}, the address of the context ${context}${why}. ${remedy}`);
  }
  const nobody =
    guessedFor === undefined
      ? `No hub answers at ${server}${why}.`
      : `No hub runs on the data directory ${guessedFor}, and none answers at ${server}${why}.`;
  const options = `${guessedFor === undefined ? '' : '--data-dir, '}--context or --server`;
  return failure(
    `${nobody} Start one with \`hubctl serve\` or \`hubctl demo\`, or name another with ${options}.`,
  );
}

function unauthenticated(server: string, target: Target | undefined): string {
  const remedy =
    target?.context === undefined
      ? 'Give one with --token-file or HUBCTL_TOKEN, or give the data directory of a local hub with --data-dir.'
      : `Replace it: \`hubctl context add ${target.context} --server ${server} --force\`.`;
  if (target?.token !== undefined) {
    return `The hub at ${server} does not accept the token from ${target.token.from}. ${remedy}`;
  }
  return [`The hub at ${server} requires a token.`, target?.withheld, remedy]
    .filter((part) => part)
    .join(' ');
}

function snakeCase(name: string | undefined): string {
  return (name ?? 'unknown').replace(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
