// Refuses JSON in which a whole number is written as text that is not one: the RPC library takes "0x1" for 1.
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  assertByteStreamRequest,
  type UniversalHandler,
  type UniversalHandlerFn,
} from '@connectrpc/connect/protocol';

type Body = AsyncIterable<Uint8Array>;

/**
 * The handler, for which a request's body ends with ConnectError invalid_argument, which names the field, if a 64-bit
 * number in it is text other than decimal digits. What cannot be read at all is left to the library to refuse.
 */
export function wholeNumbersOnly(handler: UniversalHandler, maxBytes: number): UniversalHandler {
  const { input } = handler.method;
  const serve: UniversalHandlerFn = (request) => {
    assertByteStreamRequest(request);
    return handler({ ...request, body: checked(request.body, request.header, input, maxBytes) });
  };
  return Object.assign(serve, handler);
}

function checked(body: Body, header: Headers, input: DescMessage, maxBytes: number): Body {
  const type = JSON_TYPE.exec(header.get('content-type') ?? '');
  if (type === null) return body;
  const [, protocol = ''] = type;
  const encoding = header.get(ENCODING_HEADERS[protocol] ?? 'grpc-encoding') ?? 'identity';
  return checkedAtItsEnd(body, (bytes) => {
    for (const data of protocol === ''
      ? [readJson(bytes, encoding, maxBytes)]
      : messages(bytes, encoding, maxBytes)) {
      const field = wrongNumber(input, data);
      if (field === undefined) continue;
      throw new ConnectError(`${field} has to be a whole number in decimal digits`, Code.InvalidArgument);
    }
  });
}

/** Nothing before the plus: a unary call of Connect, whose body is the message. All others put it into envelopes. */
const JSON_TYPE = /^application\/(?:(connect|grpc|grpc-web)\+)?json\s*(?:;|$)/i;
const ENCODING_HEADERS: Readonly<Record<string, string>> = {
  '': 'content-encoding',
  connect: 'connect-content-encoding',
};

async function* checkedAtItsEnd(body: Body, check: (bytes: Buffer) => void): Body {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) {
    chunks.push(chunk);
    yield chunk;
  }
  check(Buffer.concat(chunks));
}

const COMPRESSED = 1;
const ENVELOPE_BYTES = 5;

/** Five bytes before each message: flags, and its length. */
function* messages(bytes: Buffer, encoding: string, maxBytes: number): Generator<unknown> {
  for (let at = 0; at + ENVELOPE_BYTES <= bytes.length; ) {
    const isCompressed = (bytes.readUInt8(at) & COMPRESSED) !== 0;
    const end = at + ENVELOPE_BYTES + bytes.readUInt32BE(at + 1);
    yield readJson(bytes.subarray(at + ENVELOPE_BYTES, end), isCompressed ? encoding : 'identity', maxBytes);
    at = end;
  }
}

/** Undefined for what cannot be read: the library says what is wrong with it. */
function readJson(bytes: Buffer, encoding: string, maxOutputLength: number): unknown {
  try {
    if (encoding === 'gzip') return JSON.parse(gunzipSync(bytes, { maxOutputLength }).toString());
    if (encoding === 'br') return JSON.parse(brotliDecompressSync(bytes, { maxOutputLength }).toString());
    return JSON.parse(bytes.toString());
  } catch {
    return undefined;
  }
}

/** The path of the first 64-bit number that is text and no number. */
function wrongNumber(message: DescMessage, json: unknown): string | undefined {
  if (typeof json !== 'object' || json === null || message.typeName.startsWith('google.protobuf.'))
    return undefined;
  for (const [name, value] of Object.entries(json)) {
    const field = message.fields.find((each) => each.jsonName === name || each.name === name);
    const inside = field && wrongIn(field, value);
    if (inside !== undefined) return inside === '' ? name : `${name}.${inside}`;
  }
  return undefined;
}

/** The path within the value; empty if the value itself is wrong. */
function wrongIn(field: DescField, value: unknown): string | undefined {
  const isMany = field.fieldKind === 'list' || field.fieldKind === 'map';
  const each =
    isMany && typeof value === 'object' && value !== null ? Object.entries(value) : [['', value] as const];
  for (const [key, one] of each) {
    const inside = field.message
      ? wrongNumber(field.message, one)
      : typeof one === 'string' && LONG.has(field.scalar) && !/^-?\d+$/.test(one)
        ? ''
        : undefined;
    if (inside !== undefined) return [key, inside].filter((part) => part !== '').join('.');
  }
  return undefined;
}

const LONG: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);
