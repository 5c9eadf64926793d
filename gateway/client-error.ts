// Answers, straight on the socket, what is not HTTP enough to become a request.
import { randomUUID } from 'node:crypto';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { PROBLEM_TYPE, PROBLEMS, Problem, problemBody } from './problem.ts';

/** The listener for the server's `clientError`. `underWay` holds the responses that are not finished yet. */
export function createClientErrorListener(
  underWay: ReadonlySet<ServerResponse>,
  refuse: Refuse,
): (error: Error, socket: Duplex) => void {
  // The broken parser reports every further chunk of the same connection.
  const refused = new WeakSet<Duplex>();
  return (error, socket) => {
    if (refused.has(socket)) return;
    refused.add(socket);
    socket.on('error', () => socket.destroy());
    const problem = problemOf(error);
    const before = [...underWay].filter((res) => res.req.socket === socket);
    const last = before.at(-1);
    if (problem === undefined) socket.destroy();
    else if (last === undefined) refuse(socket, problem);
    // What is wrong comes after a good request: that one is answered first.
    else if (last.req.complete) last.once('close', () => refuse(socket, problem));
    // What is wrong is the body of the request under way: this is its answer, if nothing else is on the wire.
    else if (before.length === 1 && !last.headersSent) refuse(socket, problem);
    else socket.destroy();
  };
}

export type Refuse = (socket: Duplex, problem: Problem) => void;

/** Writes a problem as a whole HTTP/1.1 response, logs it like any other, and closes the connection. */
export function createRefuse(logger: Logger): Refuse {
  return (socket, problem) => {
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    const requestId = randomUUID();
    const { status } = PROBLEMS[problem.code];
    logger.info({ requestId, status, code: problem.code, ip: addressOf(socket) }, 'request refused');
    writeProblem(socket, problem, requestId);
  };
}

function addressOf(socket: Duplex): string | undefined {
  return 'remoteAddress' in socket && typeof socket.remoteAddress === 'string'
    ? socket.remoteAddress
    : undefined;
}

function writeProblem(socket: Duplex, problem: Problem, requestId: string): void {
  const body = problemBody(problem, requestId);
  const { status } = PROBLEMS[problem.code];
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Date: ${new Date().toUTCString()}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    'X-Content-Type-Options: nosniff',
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
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
