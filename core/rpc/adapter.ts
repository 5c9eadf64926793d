// Hands Node's requests to the RPC library's handlers, and answers each of them, whatever it looks like.
import { Code, ConnectError, createContextValues } from '@connectrpc/connect';
import {
  createAsyncIterable,
  type UniversalHandler,
  type UniversalServerResponse,
} from '@connectrpc/connect/protocol';
import { universalRequestFromNodeRequest, universalResponseToNodeResponse } from '@connectrpc/connect-node';
import { peerKey } from '../access/caller.ts';
import { exchangeKey, exchangeOf } from './exchange.ts';
import type { Handler } from './listener.ts';
import { peerOf } from './peer.ts';

/** `onFailure` is told of a call that broke down after its handler had begun; its connection or stream is cut. */
export function createAdapter(
  handlers: readonly UniversalHandler[],
  onFailure: (error: unknown) => void,
): Handler {
  const byPath = new Map(handlers.map((handler) => [handler.requestPath, handler]));
  return (request, response) => {
    const refuse = (status: number): void => {
      response.statusCode = status;
      response.end();
    };
    const handler = byPath.get(request.url?.split('?', 1)[0] ?? '');
    if (handler === undefined) return refuse(404);
    let incoming: ReturnType<typeof universalRequestFromNodeRequest>;
    try {
      const values = createContextValues()
        .set(peerKey, peerOf(request))
        .set(exchangeKey, exchangeOf(request, response));
      incoming = universalRequestFromNodeRequest(request, response, undefined, values);
    } catch {
      return refuse(400); // no host, or none that an address could have
    }
    shortenDeadline(incoming.header);
    handler(incoming)
      .then(blameCaller)
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch((error: unknown) => {
        if (ConnectError.from(error).code === Code.Aborted || hasLeft(request)) return;
        onFailure(error);
        response.destroy();
      });
  };
}

/** What fails while a caller leaves is not ours, however it is worded. */
function hasLeft(request: Parameters<Handler>[0]): boolean {
  return 'stream' in request ? request.stream.destroyed : request.socket.destroyed;
}

const AN_HOUR_MS = 3_600_000;
const GRPC_UNITS_MS: Readonly<Record<string, number>> = { S: 1_000, M: 60_000, H: AN_HOUR_MS };

/**
 * More than a minute is refused by the library, but only after it has set a timer, and Node complains about timers of
 * more than 24 days. An hour is refused as well.
 */
function shortenDeadline(header: Headers): void {
  const [, count = '', unit = ''] = /^(\d{1,8})([SMH])$/.exec(header.get('grpc-timeout') ?? '') ?? [];
  if (Number(count) * (GRPC_UNITS_MS[unit] ?? 0) > AN_HOUR_MS) header.set('grpc-timeout', '1H');
  const ms = header.get('connect-timeout-ms') ?? '';
  if (/^\d{1,10}$/.test(ms) && Number(ms) > AN_HOUR_MS) header.set('connect-timeout-ms', `${AN_HOUR_MS}`);
}

// How the library words that the body of a unary Connect call is no protobuf, or not compressed as it says.
const UNREADABLE = /^\{"code":"internal","message":"(parse binary: |decompression failed")/;

/**
 * The library calls such a body an internal error of ours, HTTP 500. It is the caller's: by Connect invalid_argument, as
 * one that is no JSON already is. (By gRPC it stays INTERNAL, which is what that standard says.)
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
