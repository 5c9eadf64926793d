// Reads the bodies of requests message by message, in bounded memory, before the RPC library does.
import { Code, ConnectError } from '@connectrpc/connect';
import {
  assertByteStreamRequest,
  type Compression,
  type UniversalHandler,
  type UniversalHandlerFn,
} from '@connectrpc/connect/protocol';
import { callerKey } from '../../access/caller.ts';
import { exchangeKey } from '../server/exchange.ts';
import type { BodyMemory, HeldBytes } from './body-memory.ts';
import { COMPRESSIONS } from './decompression.ts';
import { GrowingBuffer } from './growing-buffer.ts';

type Body = AsyncIterable<Uint8Array>;

/** Limits of one stream from a client; the bytes are those of the body, and of its messages decompressed. */
export type StreamLimits = {
  readonly messages: number;
  readonly bytes: number;
  readonly unpackedBytes: number;
};

/** For reflection, which sends names of a few bytes, and for unary calls. */
const STREAM_LIMITS: StreamLimits = {
  messages: 1_000,
  bytes: 4 * 1024 * 1024,
  unpackedBytes: 4 * 1024 * 1024,
};

/**
 * Returns a handler that gets each message in one chunk, and each envelope decompressed. A body beyond the
 * limits ends with ConnectError resource_exhausted.
 *
 * The library alone would read all chunks of a message again for each new one, and does not limit the
 * messages of a stream.
 */
export function boundedBody(
  handler: UniversalHandler,
  maxMessageBytes: number,
  memory: BodyMemory,
  streamLimits: StreamLimits = STREAM_LIMITS,
): UniversalHandler {
  const serve: UniversalHandlerFn = (request) => {
    assertByteStreamRequest(request);
    const { body, header, contextValues } = request;
    // The caller is known once the body is read.
    const hold = (): HeldBytes => {
      const exchange = contextValues?.get(exchangeKey);
      const held = memory(contextValues?.get(callerKey)?.id ?? `client ${exchange?.client}`);
      exchange?.onClose(held.end);
      return held;
    };
    const protocol = ENVELOPED.exec(header.get('content-type') ?? '')?.[1]?.toLowerCase();
    if (protocol === undefined) return handler({ ...request, body: inOnePiece(body, maxMessageBytes, hold) });
    const encoding = header.get(protocol === 'connect' ? 'connect-content-encoding' : 'grpc-encoding');
    const compression = COMPRESSIONS.find(({ name }) => name === encoding);
    return handler({ ...request, body: inEnvelopes(body, maxMessageBytes, compression, hold, streamLimits) });
  };
  return Object.assign(serve, handler);
}

/** Other bodies are unary Connect calls: one message without an envelope. */
const ENVELOPED = /^application\/(connect|grpc|grpc-web)\s*(?:\+|;|$)/i;

async function* inOnePiece(body: Body, maxBytes: number, hold: () => HeldBytes): Body {
  const held = hold();
  const message = new GrowingBuffer();
  for await (const chunk of body) {
    if (message.length + chunk.length > maxBytes)
      throw tooLarge(`the request is larger than ${maxBytes} bytes`);
    held.add(chunk.length);
    message.append(chunk);
  }
  if (message.length > 0) yield message.take();
}

const COMPRESSED = 1;
/** Flags, and the length of the message in four bytes. */
const HEAD_BYTES = 5;

async function* inEnvelopes(
  body: Body,
  maxBytes: number,
  compression: Compression | undefined,
  hold: () => HeldBytes,
  limits: StreamLimits,
): Body {
  const held = hold();
  const envelope = new GrowingBuffer();
  let wanted = HEAD_BYTES;
  let messages = 0;
  let bytes = 0;
  let unpacked = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > limits.bytes) throw tooLarge(`a stream may send at most ${limits.bytes} bytes`);
    held.add(chunk.length);
    for (let at = 0; at < chunk.length; ) {
      const piece = chunk.subarray(at, at + wanted - envelope.length);
      envelope.append(piece);
      at += piece.length;
      if (envelope.length < wanted) continue;
      if (wanted === HEAD_BYTES) {
        messages += 1;
        if (messages > limits.messages) {
          throw tooLarge(`a stream may send at most ${limits.messages} messages`);
        }
        const length = envelope.peekUint32(1);
        if (length > maxBytes) throw tooLarge(`a message is larger than ${maxBytes} bytes`);
        wanted += length;
        if (length > 0) continue;
      }
      const message = envelope.take();
      const plain = await decompressed(message, compression, maxBytes);
      unpacked += plain.length;
      if (unpacked > limits.unpackedBytes) {
        throw tooLarge(`a stream may send at most ${limits.unpackedBytes} bytes, decompressed`);
      }
      held.add(plain.length);
      yield plain;
      // The consumer asks for the next message, so it has parsed this one.
      held.release(message.length + plain.length);
      wanted = HEAD_BYTES;
    }
  }
  // The library reports that it is incomplete.
  if (envelope.length > 0) yield envelope.take();
}

/**
 * Decompresses an envelope. Returns it unchanged if it is not compressed, or if the encoding is unknown,
 * which the library rejects.
 */
async function decompressed(
  envelope: Uint8Array<ArrayBuffer>,
  compression: Compression | undefined,
  maxBytes: number,
): Promise<Uint8Array> {
  const [flags = 0] = envelope;
  if ((flags & COMPRESSED) === 0 || compression === undefined) return envelope;
  const message = await compression.decompress(envelope.subarray(HEAD_BYTES), maxBytes);
  const plain = new Uint8Array(HEAD_BYTES + message.length);
  plain.set(message, HEAD_BYTES);
  const head = new DataView(plain.buffer);
  head.setUint8(0, flags & ~COMPRESSED);
  head.setUint32(1, message.length);
  return plain;
}

function tooLarge(message: string): ConnectError {
  return new ConnectError(message, Code.ResourceExhausted);
}
