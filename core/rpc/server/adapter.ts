// Passes Node's requests to the handlers of the RPC library. Every request gets a response, malformed ones
// included.
import { Code, ConnectError, createContextValues } from '@connectrpc/connect';
import {
  createAsyncIterable,
  type UniversalHandler,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { peerKey } from '../../access/caller.ts';
import { exchangeKey, exchangeOf } from './exchange.ts';
import type { Handler } from './handler.ts';
import { peerOf } from './peer.ts';

/** Returns the handler of a path, if there is one. */
export type HandlerAt = (path: string) => UniversalHandler | undefined;

/**
 * @param handlerAt If it throws, the response is a 500.
 * @param onFailure Called if a call fails after its handler has begun; its connection or stream is then
 * closed.
 */
export function createAdapter(handlerAt: HandlerAt, onFailure: (error: unknown) => void): Handler {
  return (request, response) => {
    const refuse = (status: number): void => {
      response.statusCode = status;
      response.end();
    };
    let handler: UniversalHandler | undefined;
    try {
      handler = handlerAt(request.url?.split('?', 1)[0] ?? '');
    } catch (error) {
      onFailure(error);
      return refuse(500);
    }
    if (handler === undefined) return refuse(404);
    let incoming: ReturnType<typeof universalRequestFromNodeRequest>;
    try {
      const values = createContextValues()
        .set(peerKey, peerOf(request))
        .set(exchangeKey, exchangeOf(request, response));
      incoming = universalRequestFromNodeRequest(request, response, undefined, values);
    } catch {
      return refuse(400); // no valid Host header
    }
    shortenDeadline(incoming.header);
    handler(incoming)
      .then(blameCaller)
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch((error: unknown) => {
        if (ConnectError.from(error).code === Code.Aborted || isDisconnected(request)) return;
        onFailure(error);
        response.destroy();
      });
  };
}

/** Errors after a client has disconnected are not errors of the hub. */
function isDisconnected(request: Parameters<Handler>[0]): boolean {
  return 'stream' in request ? request.stream.destroyed : request.socket.destroyed;
}

const AN_HOUR_MS = 3_600_000;
const GRPC_UNITS_MS: Readonly<Record<string, number>> = { S: 1_000, M: 60_000, H: AN_HOUR_MS };

/**
 * The library refuses a deadline of more than a minute, but sets a timer first, and Node warns about timers
 * of more than 24 days. It refuses an hour as well.
 */
function shortenDeadline(header: Headers): void {
  const [, count = '', unit = ''] = /^(\d{1,8})([SMH])$/.exec(header.get('grpc-timeout') ?? '') ?? [];
  if (Number(count) * (GRPC_UNITS_MS[unit] ?? 0) > AN_HOUR_MS) header.set('grpc-timeout', '1H');
  const ms = header.get('connect-timeout-ms') ?? '';
  if (/^\d{1,10}$/.test(ms) && Number(ms) > AN_HOUR_MS) header.set('connect-timeout-ms', `${AN_HOUR_MS}`);
}

// The library's messages for a unary Connect body that is not protobuf, or not compressed as declared.
const UNREADABLE = /^\{"code":"internal","message":"(parse binary: |decompression failed")/;

/**
 * The library reports an unreadable body as an internal error, HTTP 500. With Connect it becomes
 * invalid_argument, like a body that is not JSON. With gRPC it stays INTERNAL, as that protocol specifies.
 */
async function blameCaller(answer: UniversalServerResponse): Promise<UniversalServerResponse> {
  if (answer.status !== 500 || answer.body === undefined) return answer;
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer.body) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('latin1');
  const isUnreadable = UNREADABLE.test(text);
  const bytes = Buffer.from(isUnreadable ? text.replace('internal', 'invalid_argument') : text, 'latin1');
  answer.header?.set('content-length', String(bytes.length));
  return { ...answer, status: isUnreadable ? 400 : 500, body: createAsyncIterable([bytes]) };
}
