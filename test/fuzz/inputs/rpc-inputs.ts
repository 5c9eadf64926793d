// Requests to any RPC of the contract, with every protocol, every role and no role, and good, odd and damaged
// messages.
import { create, type DescMethod, fromJson, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import type { Input, Protocol } from './input.ts';
import { messageJson, type Words } from './message-json.ts';
import { coded, damagedBytes, damagedJson, oddText } from './odd-values.ts';

export type RpcInputsOptions = {
  readonly methods: readonly DescMethod[];
  readonly words: Words;
  /** A token with all permissions. */
  readonly admin: string;
  /** Tokens of the other roles. */
  readonly others: readonly string[];
};

export function rpcInputs({ methods, words, admin, others }: RpcInputsOptions): fc.Arbitrary<Input> {
  const authorization = fc.oneof(
    { weight: 7, arbitrary: fc.constant(`Bearer ${admin}`) },
    { weight: 3, arbitrary: fc.constantFrom(...others.map((token) => `Bearer ${token}`)) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        '',
        'Bearer',
        'Bearer x',
        `Basic ${admin}`,
        `Bearer ${admin}x`,
        'Bearer hub_',
      ),
    },
  );
  return fc.oneof(...methods.map((method) => inputsOf(method, words, authorization)));
}

type Wire = { readonly protocol: Protocol; readonly contentType: string; readonly http: 1 | 2 };

const UNARY: readonly Wire[] = [
  { protocol: 'connect', contentType: 'application/json', http: 1 },
  { protocol: 'connect', contentType: 'application/proto', http: 1 },
  { protocol: 'connect', contentType: 'application/json', http: 2 },
];
const ANY: readonly Wire[] = [
  { protocol: 'grpc', contentType: 'application/grpc', http: 2 },
  { protocol: 'grpc', contentType: 'application/grpc+json', http: 2 },
  { protocol: 'grpc', contentType: 'application/grpc+proto', http: 1 },
  { protocol: 'grpc-web', contentType: 'application/grpc-web+proto', http: 1 },
  { protocol: 'grpc-web', contentType: 'application/grpc-web+json', http: 1 },
];
const STREAMED: readonly Wire[] = [
  { protocol: 'connect-stream', contentType: 'application/connect+json', http: 2 },
  { protocol: 'connect-stream', contentType: 'application/connect+proto', http: 1 },
];

function inputsOf(rpc: DescMethod, words: Words, authorization: fc.Arbitrary<string>): fc.Arbitrary<Input> {
  const json = messageJson(rpc.input, words);
  const wires = rpc.methodKind === 'unary' ? [...UNARY, ...UNARY, ...ANY] : [...ANY, ...STREAMED];
  return fc.constantFrom(...wires).chain((wire) => {
    const isEnveloped = wire.protocol !== 'connect';
    const isJson = wire.contentType.endsWith('json');
    const healthy = json.map(
      (value): Uint8Array => (isJson ? Buffer.from(JSON.stringify(value)) : binaryOf(rpc, value)),
    );
    const damaged = isJson
      ? damagedJson(json.map((value) => JSON.stringify(value))).map((text): Uint8Array => Buffer.from(text))
      : damagedBytes(healthy);
    const message = fc.oneof({ weight: 8, arbitrary: healthy }, { weight: 2, arbitrary: damaged });
    const framed = isEnveloped
      ? fc.oneof(
          { weight: 14, arbitrary: coded(message).map(enveloped) },
          { weight: 1, arbitrary: coded(damagedBytes(message.map((bytes) => envelope(bytes, 0)))) },
        )
      : coded(message);
    return fc
      .record({ body: framed, headers: headersOf(wire), authorization, method: METHODS })
      .map(({ body: { coding, bytes }, headers, authorization: bearer, method }) => ({
        port: 'rpc' as const,
        target: `${rpc.parent.typeName}/${rpc.name}`,
        ...wire,
        rpc,
        method,
        path: `/${rpc.parent.typeName}/${rpc.name}`,
        headers: {
          'content-type': wire.contentType,
          ...(wire.protocol === 'grpc' && { te: 'trailers' }),
          ...(bearer !== '' && { authorization: bearer }),
          ...(coding !== undefined && { [CODING_HEADERS[wire.protocol]]: coding }),
          ...headers,
        },
        body: bytes,
      }));
  });
}

const METHODS = fc.oneof(
  { weight: 40, arbitrary: fc.constant('POST') },
  { weight: 1, arbitrary: fc.constantFrom('GET', 'PUT', 'OPTIONS', 'DELETE') },
);

const CODING_HEADERS: Record<Protocol, string> = {
  connect: 'content-encoding',
  'connect-stream': 'connect-content-encoding',
  grpc: 'grpc-encoding',
  'grpc-web': 'grpc-encoding',
  rest: 'content-encoding',
  bytes: 'content-encoding',
};

/** Headers with a meaning in one of the protocols, usually none. */
function headersOf({ protocol }: Wire): fc.Arbitrary<Record<string, string>> {
  const timeout = protocol.startsWith('grpc') ? 'grpc-timeout' : 'connect-timeout-ms';
  const one = fc.oneof(
    fc
      .constantFrom('0', '1', 'x', '-1', '99999999', '1n', '1H', '99999999H', '1e3')
      .map((value): [string, string] => [timeout, value]),
    fc.tuple(
      fc.constantFrom('accept-encoding', 'grpc-accept-encoding', 'connect-accept-encoding'),
      fc.constantFrom('gzip', 'br', 'zip', '', 'gzip,br'),
    ),
    fc.constantFrom('0', '1', '2', 'x').map((value): [string, string] => ['connect-protocol-version', value]),
    oddText.map((text): [string, string] => ['x-request-id', headerSafe(text)]),
    oddText.map((text): [string, string] => ['x-odd-bin', headerSafe(text)]),
    fc
      .constantFrom('application/json; charset=utf-16', 'application/grpc+xml', 'text/plain', '')
      .map((value): [string, string] => ['content-type', value]),
  );
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: one.map((pair) => Object.fromEntries([pair])) },
  );
}

/** The characters that Node's clients permit. Byte inputs cover the others. */
export function headerSafe(text: string): string {
  return text
    .replace(/[^\x20-\x7e\x80-\xff]/g, '?')
    .slice(0, 300)
    .trim();
}

/**
 * The message in binary. If the JSON is not a valid message, the JSON itself, which is not valid binary
 * either.
 */
function binaryOf({ input }: DescMethod, value: fc.JsonValue): Uint8Array {
  try {
    return toBinary(input, fromJson(input, value as Parameters<typeof fromJson>[1]));
  } catch {
    return value === null ? toBinary(input, create(input)) : Buffer.from(JSON.stringify(value));
  }
}

function enveloped({ coding, bytes }: { coding: string | undefined; bytes: Uint8Array }) {
  return { coding, bytes: envelope(bytes, coding === undefined ? 0 : 1) };
}

function envelope(bytes: Uint8Array, flags: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}
