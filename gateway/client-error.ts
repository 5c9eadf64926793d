// Answers, straight on the socket, what is not HTTP enough to become a request.
import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { HttpMeter } from './http-meter.ts';
import { PROBLEM_TYPE, PROBLEMS, Problem, problemBody } from './problem.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

/** The listener for the server's `clientError`. `underWay` gives the responses that are not finished yet, in order. */
export function createClientErrorListener(
  underWay: () => ServerResponse[],
  refuse: Refuse,
): (error: Error, socket: Duplex) => void {
  // The broken parser reports every further chunk of the same connection.
  const refused = new WeakSet<Duplex>();
  return (error, socket) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    socket.on('error', () => socket.destroy());
    const problem = problemOf(error);
    const isHead = beginsWithHead(error);
    const before = underWay().filter((res) => res.req.socket === socket);
    const last = before.at(-1);
    if (problem === undefined) socket.destroy();
    else if (last === undefined) refuse(socket, problem, isHead);
    // What is wrong comes after a good request: that one is answered first.
    else if (last.req.complete) last.once('close', () => refuse(socket, problem));
    // What is wrong is the body of the request under way: this is its answer, if nothing else is on the wire.
    else if (before.length === 1 && !last.headersSent) refuse(socket, problem);
    else socket.destroy();
  };
}

/** `withoutBody`: as the answer to a HEAD has to be (RFC 9110 section 9.3.2). */
export type Refuse = (socket: Duplex, problem: Problem, withoutBody?: boolean) => void;

/** The parser gave up before it told the method, but left what it had read last. */
function beginsWithHead(error: Error): boolean {
  return 'rawPacket' in error && error.rawPacket instanceof Buffer && error.rawPacket.indexOf('HEAD ') === 0;
}

/** Writes a problem as a whole HTTP/1.1 response, logs and counts it like any other, and closes the connection. */
export function createRefuse(logger: Logger, meter: Pick<HttpMeter, 'refused' | 'problem'>): Refuse {
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
  // The client gets a moment to read this before a reset can take it away.
  setTimeout(() => socket.destroy(), CLOSE_MS).unref();
}

const CLOSE_MS = 1_000;

/** Undefined where there is nobody left to tell. */
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
