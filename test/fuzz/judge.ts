// Detects wrong responses: internal errors, shapes that clients cannot parse, secrets.
import { fromBinary, fromJsonString } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { codeFromString } from '@connectrpc/connect/protocol-connect';
import { PROBLEM_TYPE, PROBLEMS } from '../../gateway/problem.ts';
import { decoded, frames, legibleBody, unframed } from './inputs/framing.ts';
import type { Input } from './inputs/input.ts';
import type { Answer } from './send.ts';

/** Undefined: the response is correct. */
export type Verdict = string | undefined;

/** `secretsIn` returns the secrets that a text reveals. */
export function judge(input: Input, answer: Answer, secretsIn: (text: string) => readonly string[]): Verdict {
  const heads = JSON.stringify([answer.headers, answer.trailers]);
  if (secretsIn(`${heads}\n${legibleBody(input.protocol, answer)}`).length > 0)
    return 'the answer shows a secret';
  return JUDGES[input.protocol](input, answer);
}

/** Whether the hub performed the request. */
export function isGranted({ protocol }: Input, answer: Answer): boolean {
  if (protocol.startsWith('grpc')) return (grpcStatus(answer) ?? (answer.isCut ? 0 : undefined)) === 0;
  if (protocol === 'connect-stream') return answer.status === 200 && !/"error":/.test(`${answer.body}`);
  return answer.status === 200 || answer.status === 303;
}

const JUDGES: Record<Input['protocol'], (input: Input, answer: Answer) => Verdict> = {
  rest: judgeRest,
  connect: judgeConnect,
  'connect-stream': judgeConnectStream,
  grpc: judgeGrpc,
  'grpc-web': judgeGrpc,
  bytes: judgeBytes,
};

/** Routes whose problems are pages. */
const PAGES = /^(http:\/\/elsewhere)?\/(v1\/return|buy|orders)\//;

function judgeRest({ method, path }: Input, { status, headers, body }: Answer): Verdict {
  const type = headers['content-type'] ?? '';
  if (!/^[0-9a-f-]{36}$/.test(headers['x-request-id'] ?? '')) return 'no request id';
  if (headers['x-content-type-options'] !== 'nosniff') return 'no nosniff';
  if (status === 200 || status === 304) {
    if (method === 'HEAD' || status === 304)
      return body.length === 0 ? undefined : 'a body where there may be none';
    return type.endsWith('json') ? jsonTrouble(`${body}`) : undefined;
  }
  if (status === 303 && PAGES.test(path)) return redirectTrouble(headers['location']);
  if (type.startsWith('text/html') && PAGES.test(path)) {
    if (!headers['content-security-policy']?.includes("default-src 'none'")) return 'a page without a policy';
    return problemStatuses.has(status) ? undefined : `a page with ${status}`;
  }
  if (type !== PROBLEM_TYPE) return `${status} without a problem document (${type})`;
  if (method === 'HEAD') return problemStatuses.has(status) ? undefined : `status ${status}`;
  return problemTrouble(status, `${body}`);
}

/** Customers are sent to a shop, to the page of their order or to a checkout, which the hub stores or creates. */
function redirectTrouble(location = ''): Verdict {
  const isOurs =
    /^http:\/\/(localhost:3000\/paid\?|127\.0\.0\.1:\d+\/gateway_)|^\.\.\/\.\.\/orders\/chs_\w{26}$/;
  return isOurs.test(location) ? undefined : `a redirect to ${location}`;
}

const problemStatuses: ReadonlySet<number> = new Set(
  Object.values(PROBLEMS)
    .map(({ status }) => status)
    .filter((status) => status !== 500),
);

/**
 * Checks that a problem document is complete, agrees with the status and does not report a defect of the hub.
 */
function problemTrouble(status: number, text: string): Verdict {
  const problem: Record<string, unknown> = JSON.parse(text);
  const { type, title, detail, instance, ok, code } = problem;
  const known = Object.entries(PROBLEMS).find(([name]) => name === code)?.[1];
  if (known === undefined) return `the code ${code} is none`;
  if (known.status !== status || problem['status'] !== status || known.title !== title)
    return `${code} with ${status}`;
  if (code === 'internal') return 'an internal error';
  if (type !== `urn:hub:problem:${code}` || ok !== false) return `type ${type}, ok ${ok}`;
  if (typeof detail !== 'string' || detail === '') return 'no detail';
  return /^urn:uuid:[0-9a-f-]{36}$/.test(String(instance)) ? undefined : `instance ${instance}`;
}

function judgeConnect({ rpc, headers: sent }: Input, { status, headers, body }: Answer): Verdict {
  if (status === 200)
    return rpc === undefined
      ? undefined
      : messageTrouble(rpc, headers['content-type'] ?? '', decoded(body, headers));
  if (body.length === 0) return UNNEGOTIATED.has(status) ? undefined : `status ${status} with nothing said`;
  const { code, message = '' } = JSON.parse(`${decoded(body, headers)}`);
  return (
    codeTrouble(codeFromString(code), message, sent) ??
    (status >= 500 && !isDeclared(status, code) ? `status ${status} for ${code}` : undefined)
  );
}

/** Statuses before a protocol is negotiated: bad host, unknown path, method, content type, HTTP version. */
const UNNEGOTIATED: ReadonlySet<number> = new Set([400, 404, 405, 415, 505]);

/** The Connect protocol requires 501 for an unknown compression and 504 for the caller's own deadline. */
function isDeclared(status: number, code: string): boolean {
  return [503, 501, 504][['unavailable', 'unimplemented', 'deadline_exceeded'].indexOf(code)] === status;
}

/** Rejects codes for defects, and codes for refusals without a cause in the request. */
function codeTrouble(code: Code | undefined, message: string, sent: Input['headers']): Verdict {
  if (code === undefined || !(code in Code)) return `a code that is none: ${code} ${message}`;
  if (code === Code.Unknown || code === Code.DataLoss || code === Code.Internal)
    return `${Code[code]}: ${message}`;
  if (code === Code.Unimplemented && !/^(unknown compression|protocol error: )/.test(message))
    return `Unimplemented: ${message}`;
  const hasTimeout = Object.keys(sent).some(
    (name) => name.endsWith('-timeout') || name === 'connect-timeout-ms',
  );
  if (code === Code.DeadlineExceeded && !hasTimeout) return `DeadlineExceeded: ${message}`;
  return undefined;
}

function judgeConnectStream({ headers: sent }: Input, { status, headers, body, isCut }: Answer): Verdict {
  if (status !== 200) return UNNEGOTIATED.has(status) ? undefined : `status ${status}`;
  const last = frames(body).at(-1);
  if (last === undefined || (last.flags & 2) === 0) return isCut ? undefined : 'the stream has no end';
  const { error } = JSON.parse(`${unframed(last, headers['connect-content-encoding'])}`);
  return error === undefined ? undefined : codeTrouble(codeFromString(error.code), error.message, sent);
}

function judgeGrpc(input: Input, answer: Answer): Verdict {
  if (answer.status !== 200) return UNNEGOTIATED.has(answer.status) ? undefined : `status ${answer.status}`;
  const status = grpcStatus(answer);
  if (status === undefined)
    return answer.isCut || (input.http === 1 && input.protocol === 'grpc') ? undefined : 'no gRPC status';
  return grpcTrouble(status, grpcTrailers(answer)['grpc-message'] ?? '', input.headers);
}

function grpcTrouble(status: number, encoded: string, sent: Input['headers']): Verdict {
  if (status === 0) return undefined;
  const message = decodeURIComponent(encoded);
  // gRPC's code for an unreadable message: https://grpc.github.io/grpc/core/md_doc_statuscodes.html
  if (
    status === Code.Internal &&
    /^(parse binary: |received compressed envelope|decompression failed)/.test(message)
  )
    return undefined;
  return codeTrouble(status, message, sent);
}

function grpcStatus(answer: Answer): number | undefined {
  const text = grpcTrailers(answer)['grpc-status'];
  return text === undefined ? undefined : Number(text);
}

/** Trailers, the headers of a response without a body, or the last frame of gRPC-Web. */
function grpcTrailers({ headers, trailers, body }: Answer): Readonly<Record<string, string>> {
  if (trailers['grpc-status'] !== undefined) return trailers;
  if (!(headers['content-type'] ?? '').startsWith('application/grpc-web')) return headers;
  const last = frames(body).find(({ flags }) => (flags & 0x80) !== 0);
  const text = last === undefined ? '' : `${unframed(last, headers['grpc-encoding'])}`;
  const lines = text.split('\r\n').filter((line) => line !== '');
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]),
  );
}

/** Random bytes may contain anything, such as a deadline. */
const ANY_TIMEOUT = { 'grpc-timeout': '' };

/** HEADERS, and `:status: 500` as HPACK writes it (RFC 7541 appendix A). */
const [HTTP2_HEADERS, HPACK_500] = [1, 0x8e];

function http2Trouble(body: Buffer): Verdict {
  for (let at = 0; at + 9 <= body.length; at += 9 + body.readUIntBE(at, 3)) {
    if (body[at + 3] === HTTP2_HEADERS && body[at + 9] === HPACK_500) return 'status 500 over HTTP/2';
  }
  return undefined;
}

function judgeBytes({ port }: Input, { body }: Answer): Verdict {
  if (!body.toString('latin1', 0, 5).startsWith('HTTP/')) return http2Trouble(body);
  // Checks each response to a pipeline of requests. The response to a HEAD has no body, whatever its length
  // header.
  for (const answer of body.toString('latin1').split(/(?=HTTP\/1\.1 \d{3} )/)) {
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
    const [, grpc] = /^grpc-status: *(\S*)/im.exec(answer) ?? [];
    const [, message = ''] = /^grpc-message: *(.*)/im.exec(answer) ?? [];
    const refused = grpc === undefined ? undefined : grpcTrouble(Number(grpc), message.trim(), ANY_TIMEOUT);
    if (refused !== undefined) return refused;
    const rest = answer.slice(answer.indexOf('\r\n\r\n') + 4);
    if (status >= 500 && status !== 503 && status !== 505) return `status ${status}: ${rest.slice(0, 300)}`;
    if (port === 'gateway' && status >= 400 && rest.startsWith('{')) {
      const trouble = problemTrouble(status, rest);
      if (trouble !== undefined) return trouble;
    }
  }
  return undefined;
}

function messageTrouble(rpc: NonNullable<Input['rpc']>, type: string, body: Buffer): Verdict {
  try {
    if (type === 'application/proto') fromBinary(rpc.output, body);
    else fromJsonString(rpc.output, `${body}`);
    return undefined;
  } catch (error) {
    return `not the message it should be: ${error}`;
  }
}

function jsonTrouble(text: string): Verdict {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return `no JSON: ${error}`;
  }
}
