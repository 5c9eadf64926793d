// Writes a response so that a client can read it while still sending its request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PROBLEM_TYPE, PROBLEMS, type Problem, problemBody } from '../problem.ts';
import type { RouteResponse } from '../routes/routes.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

export type SendOptions = {
  requestId: string;
  /** Additional headers: name, value, name, value, … */
  headers: readonly string[];
  /** Respond with `Connection: close`. */
  close: boolean;
  /** Unread request bytes up to this number are discarded; more close the connection. */
  maxRestBytes: number;
};

/** Sends a response with its length. */
export function sendResponse(res: ServerResponse, response: RouteResponse, options: SendOptions): void {
  const { req } = res;
  const rest = unreadBytes(req);
  const close = options.close || rest > options.maxRestBytes;
  const headers = [
    'Content-Type',
    response.contentType,
    'Cache-Control',
    response.cacheControl ?? 'no-store',
    ...(response.securityHeaders ?? SECURITY_HEADERS),
    'X-Request-Id',
    options.requestId,
    ...options.headers,
  ];
  if (response.status !== 204 && response.status !== 304)
    headers.push('Content-Length', String(Buffer.byteLength(response.body)));
  if (response.headers !== undefined) headers.push(...response.headers);
  if (close) headers.push('Connection', 'close');
  res.writeHead(response.status, headers);
  if (close && rest > 0) lingerAndEnd(res, response.body);
  else res.end(response.body);
}

/** Returns the response for a problem. */
export function problemResponse(problem: Problem, requestId: string): RouteResponse {
  return {
    status: PROBLEMS[problem.code].status,
    contentType: PROBLEM_TYPE,
    body: problemBody(problem, requestId),
    headers: problem.headers,
  };
}

const LINGER_MS = 5_000;
const LINGER_BYTES = 16 * 1024 * 1024;

/**
 * Sends the body, but ends the response only after the rest of the request has arrived or exceeds a limit.
 * Closing a socket with unread bytes resets it, and the client would lose the response (RFC 9112 section
 * 9.6).
 */
function lingerAndEnd(res: ServerResponse, body: RouteResponse['body']): void {
  const { req } = res;
  let left = LINGER_BYTES;
  const end = (): void => {
    clearTimeout(timer);
    req.off('data', discard);
    res.end();
  };
  const discard = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left < 0) end();
  };
  const timer = setTimeout(end, LINGER_MS);
  res.flushHeaders();
  // Half-close, so that a client that reads until the end of the stream does not wait.
  res.write(body, () => res.socket?.end());
  req.on('data', discard).once('end', end).once('close', end).resume();
}

/** Upper bound of the request body that is still to come; Infinity if its length is unknown. */
function unreadBytes(req: IncomingMessage): number {
  if (req.complete) return 0;
  if (req.headers['transfer-encoding'] !== undefined) return Infinity;
  return Number(req.headers['content-length'] ?? 0);
}
