// Responds on the socket to bytes that cannot be parsed as a request.
import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { PROBLEM_TYPE, PROBLEMS, Problem, problemBody } from '../problem.ts';
import type { HttpMetrics } from './respond.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

/** Creates the listener for `clientError`. `unfinished` returns the unfinished responses in order. */
export function createClientErrorListener(
  unfinished: () => ServerResponse[],
  refuse: Refuse,
): (error: Error, socket: Duplex) => void {
  // The parser reports each further chunk of a broken connection.
  const refused = new WeakSet<Duplex>();
  return (error, socket) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    socket.on('error', () => socket.destroy());
    const problem = problemOf(error);
    const isHead = beginsWithHead(error);
    const before = unfinished().filter((res) => res.req.socket === socket);
    const last = before.at(-1);
    if (problem === undefined) socket.destroy();
    else if (last === undefined) refuse(socket, problem, isHead);
    // The error follows a valid request: wait for its response.
    else if (last.req.complete) last.once('close', () => refuse(socket, problem));
    // The error is in the body of the only request in flight: respond in its place if no response has begun.
    else if (before.length === 1 && !last.headersSent) refuse(socket, problem);
    else socket.destroy();
  };
}

/** `withoutBody`: for a HEAD request (RFC 9110 section 9.3.2). */
export type Refuse = (socket: Duplex, problem: Problem, withoutBody?: boolean) => void;

/** The parser does not report the method, but the packet it failed on. */
function beginsWithHead(error: Error): boolean {
  return 'rawPacket' in error && error.rawPacket instanceof Buffer && error.rawPacket.indexOf('HEAD ') === 0;
}

/**
 * Creates the function that writes a problem as an HTTP/1.1 response, logs and counts it, and closes the
 * connection.
 */
export function createRefuse(logger: Logger, meter: Pick<HttpMetrics, 'refused' | 'problem'>): Refuse {
  return (socket, problem, withoutBody = false) => {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const requestId = randomUUID();
    const { status } = PROBLEMS[problem.code];
    meter.refused(status);
    meter.problem(problem.code);
    logger.info({ requestId, status, code: problem.code, ip: addressOf(socket) }, 'request refused');
    writeProblem(socket, problem, requestId, withoutBody);
  };
}

function addressOf(socket: Duplex): string | undefined {
  return 'remoteAddress' in socket && typeof socket.remoteAddress === 'string'
    ? socket.remoteAddress
    : undefined;
}

function writeProblem(socket: Duplex, problem: Problem, requestId: string, withoutBody: boolean): void {
  const body = problemBody(problem, requestId);
  const { status } = PROBLEMS[problem.code];
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Date: ${new Date().toUTCString()}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  for (let at = 0; at < SECURITY_HEADERS.length; at += 2) {
    head.push(`${SECURITY_HEADERS[at]}: ${SECURITY_HEADERS[at + 1]}`);
  }
  socket.end(`${head.join('\r\n')}\r\n\r\n${withoutBody ? '' : body}`);
  // Delay the reset so that the client can read the response.
  setTimeout(() => socket.destroy(), CLOSE_MS).unref();
}

const CLOSE_MS = 1_000;

/** Undefined if the client has disconnected. */
function problemOf(error: Error): Problem | undefined {
  switch ('code' in error ? error.code : undefined) {
    case 'HPE_HEADER_OVERFLOW':
      return new Problem(
        'headers_too_large',
        'The request line and headers may have at most 16 KiB and 100 fields.',
      );
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Problem('request_timeout', 'The request did not arrive in time.');
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined;
    default:
      return new Problem('invalid_request', 'This is not a well-formed HTTP/1.1 request.');
  }
}
