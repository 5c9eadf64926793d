// Bytes that no client sends: HTTP errors that parsers interpret differently, other protocols, and noise.
import fc from 'fast-check';
import type { Input } from './input.ts';
import { damagedBytes } from './odd-values.ts';

/** `paths`: some valid paths. */
export function byteInputs(port: Input['port'], paths: readonly string[]): fc.Arbitrary<Input> {
  const request = fc
    .record({
      start: fc
        .tuple(method, fc.constantFrom(...paths, '*', '/', 'http://h/', '/\0'), version)
        .map((parts) => parts.join(' ')),
      headers: fc.array(header, { maxLength: 6 }),
      body: fc.oneof(
        fc.constantFrom('', '{}', '0\r\n\r\n', '2\r\n{}\r\n0\r\n\r\n', 'ffffffffffffffff\r\nx', 'x'),
        fc.string({ maxLength: 50 }),
      ),
      lineEnd: fc.oneof(
        { weight: 9, arbitrary: fc.constant('\r\n') },
        { weight: 1, arbitrary: fc.constantFrom('\n', '\r', '\r\n ') },
      ),
    })
    .map(({ start, headers, body, lineEnd }) => `${[start, ...headers, '', ''].join(lineEnd)}${body}`);
  const pipelined = fc
    .array(request, { minLength: 1, maxLength: 3 })
    .map((requests): Uint8Array => Buffer.from(requests.join(''), 'latin1'));
  const bytes = fc.oneof(
    { weight: 6, arbitrary: pipelined },
    { weight: 3, arbitrary: damagedBytes(pipelined) },
    { weight: 3, arbitrary: http2 },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Uint8Array>(
        TLS_HELLO,
        Buffer.from('SSH-2.0-x\r\n'),
        Buffer.alloc(40_000, 'A'),
        Buffer.from('\r\n\r\n'),
      ),
    },
  );
  return bytes.map((body) => ({
    port,
    target: `bytes on the ${port} port`,
    protocol: 'bytes' as const,
    http: 1 as const,
    method: '',
    path: '',
    headers: {},
    body,
  }));
}

const method = fc.constantFrom('GET', 'POST', 'HEAD', 'PUT', 'CONNECT', 'OPTIONS', 'PRI', 'get', '', 'G\0T');
const version = fc.constantFrom(
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/2.0',
  'HTTP/0.9',
  'http/1.1',
  '',
);
const header = fc.constantFrom(
  'Host: hub',
  'Host: hub',
  'Host:',
  'Host: a b',
  'Host: [',
  'Host: x:y',
  'Host: \xff',
  'Content-Length: 2',
  'Content-Length: 2',
  'Content-Length: 2, 3',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: xchunked',
  'Content-Type: application/json',
  'Content-Type: application/grpc',
  'Content-Type: application/proto',
  'Content-Encoding: gzip',
  'Connection: close',
  'Connection: upgrade, HTTP2-Settings',
  'Upgrade: h2c',
  'Upgrade: websocket',
  'HTTP2-Settings: AAMAAABkAAQAAP__',
  'Expect: 100-continue',
  'Authorization: Bearer \t',
  'No colon',
  ' Folded: line',
  'Name : space',
  `X-Long: ${'x'.repeat(20_000)}`,
  'X-Nul: \0',
);

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** The HTTP/2 preface, and frames of any type, length and stream. */
const http2: fc.Arbitrary<Uint8Array> = fc
  .array(
    fc.record({
      type: fc.nat(12),
      flags: fc.nat(255),
      stream: fc.constantFrom(0, 1, 2, 3, 2 ** 31 - 1),
      payload: fc.uint8Array({ maxLength: 40 }),
      lie: fc.constantFrom(0, 0, 0, 1, 16_000),
    }),
    { maxLength: 8 },
  )
  .map((frames) => {
    const parts = frames.map(({ type, flags, stream, payload, lie }) => {
      const head = Buffer.alloc(9);
      head.writeUIntBE(payload.length + lie, 0, 3);
      head.writeUInt8(type, 3);
      head.writeUInt8(flags, 4);
      head.writeUInt32BE(stream, 5);
      return Buffer.concat([head, payload]);
    });
    return Buffer.concat([PREFACE, SETTINGS, ...parts]);
  });

const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const TLS_HELLO = Buffer.from('16030100c8010000c40303', 'hex');
