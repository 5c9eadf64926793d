// Tests the judge of the fuzz run with responses that it must reject and responses that it must accept.
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import type { Input, Protocol } from './inputs/input.ts';
import { isGranted, judge } from './judge.ts';
import type { Answer } from './send.ts';

const SECRET = 'the-master-key';
const secretsIn = (text: string) => (text.includes(SECRET) ? [SECRET] : []);

function input(protocol: Protocol, rpc: Input['rpc'] = PaymentService.method.getChargeSession): Input {
  return {
    port: protocol === 'rest' ? 'gateway' : 'rpc',
    target: 'a target',
    protocol,
    http: protocol === 'grpc' ? 2 : 1,
    rpc,
    method: 'POST',
    path: '/',
    headers: {},
    body: Buffer.alloc(0),
  };
}

function answer(fields: Partial<Omit<Answer, 'body'>> & { body?: string | Buffer }): Answer {
  const { body = '', ...rest } = fields;
  return { status: 200, headers: {}, trailers: {}, isCut: false, ...rest, body: Buffer.from(body) };
}

function frame(flags: number, data: string | Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(Buffer.byteLength(data), 1);
  return Buffer.concat([head, Buffer.from(data)]);
}

const stream = PaymentService.method.watchChargeSession;
const restHeaders = {
  'x-request-id': '00000000-0000-4000-8000-000000000000',
  'x-content-type-options': 'nosniff',
};

describe('the judge of responses', () => {
  const defects: Readonly<Record<string, readonly [Input, Answer]>> = {
    'a REST answer of 500': [
      input('rest'),
      answer({
        status: 500,
        headers: { ...restHeaders, 'content-type': 'application/problem+json' },
        body: JSON.stringify({ code: 'internal', status: 500, title: 'Internal error', ok: false }),
      }),
    ],
    'a REST answer of 502 without a document': [input('rest'), answer({ status: 502, headers: restHeaders })],
    'a Connect error of the hub': [
      input('connect'),
      answer({ status: 500, body: '{"code":"internal","message":"x"}' }),
    ],
    'a Connect error that is known by no code': [
      input('connect'),
      answer({ status: 400, body: '{"code":"oops","message":"x"}' }),
    ],
    'a gRPC status unknown': [input('grpc'), answer({ trailers: { 'grpc-status': '2' } })],
    'a gRPC status internal': [input('grpc'), answer({ headers: { 'grpc-status': '13' } })],
    'a gRPC status that is none': [input('grpc'), answer({ trailers: { 'grpc-status': 'x' } })],
    'a gRPC-Web stream that begins with its end': [
      input('grpc-web', stream),
      answer({
        headers: { 'content-type': 'application/grpc-web+proto' },
        body: frame(0x80, 'grpc-status: 13\r\ngrpc-message: x\r\n'),
        isCut: true,
      }),
    ],
    'a Connect stream that begins with its end': [
      input('connect-stream', stream),
      answer({ body: frame(2, '{"error":{"code":"internal","message":"x"}}'), isCut: true }),
    ],
    'a gRPC status in an answer to bytes': [
      input('bytes'),
      answer({ body: 'HTTP/1.1 200 OK\r\ngrpc-status: 13\r\n\r\n' }),
    ],
    'a status in an HTTP/2 answer to bytes': [
      input('bytes'),
      answer({
        body: Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 1, 4, 0, 0, 0, 1, 0x8e]),
      }),
    ],
    'a 500 in the middle of a pipeline': [
      input('bytes'),
      answer({ body: 'HTTP/1.1 404 Not Found\r\n\r\nHTTP/1.1 500 Oops\r\n\r\n' }),
    ],
    'a secret in a header': [input('connect'), answer({ headers: { 'x-odd': SECRET }, body: '{}' })],
    'a secret in a compressed body': [
      input('connect'),
      answer({
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        body: gzipSync(`{"sessionId":"${SECRET}"}`),
      }),
    ],
    'a secret in a compressed frame': [
      input('grpc'),
      answer({
        headers: { 'grpc-encoding': 'gzip' },
        trailers: { 'grpc-status': '0' },
        body: frame(1, gzipSync(SECRET)),
      }),
    ],
  };
  for (const [what, [asked, said]] of Object.entries(defects)) {
    it(`detects ${what}`, () => {
      expect(judge(asked, said, secretsIn)).to.be.a('string');
    });
  }

  it('does not accept a stream that begins with an error', () => {
    const refused = frame(2, '{"error":{"code":"not_found","message":"x"}}');
    const [asked, said] = [input('connect-stream', stream), answer({ body: refused, isCut: true })];
    expect(judge(asked, said, secretsIn)).to.equal(undefined);
    expect(isGranted(asked, said)).to.equal(false);
  });

  it('accepts valid responses of a hub', () => {
    const fine: readonly (readonly [Input, Answer])[] = [
      [input('grpc'), answer({ trailers: { 'grpc-status': '5', 'grpc-message': 'unknown' } })],
      [input('grpc', stream), answer({ body: frame(0, ''), isCut: true })],
      [
        input('grpc', stream),
        answer({
          headers: { 'grpc-encoding': 'gzip' },
          body: frame(1, gzipSync('a message')).subarray(0, 20),
          isCut: true,
        }),
      ],
      [input('connect'), answer({ status: 503, body: '{"code":"unavailable","message":"later"}' })],
      [input('bytes'), answer({ body: 'HTTP/1.1 400 Bad Request\r\n\r\n' })],
    ];
    for (const [asked, said] of fine) expect(judge(asked, said, secretsIn)).to.equal(undefined);
  });
});
