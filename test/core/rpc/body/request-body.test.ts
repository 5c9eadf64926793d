// The limits of one stream: messages, bytes, decompressed bytes, in pieces of any size, by each protocol.
import { randomBytes } from 'node:crypto';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, createContextValues } from '@connectrpc/connect';
import type { UniversalHandler } from '@connectrpc/connect/protocol';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { expect } from 'chai';
import { type BodyMemory, createBodyMemory } from '../../../../core/rpc/body/body-memory.ts';
import { boundedBody } from '../../../../core/rpc/body/request-body.ts';
import { createReflectionServices } from '../../../../core/rpc/endpoints/reflection.ts';
import { listen, urlOf } from '../../../../core/rpc/server/listener.ts';
import { createRpcListener } from '../../../../core/rpc/server/server.ts';
import { Health } from '../../../../gen/grpc/health/v1/health_pb.ts';
import {
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
} from '../../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { envelope } from '../../../attacks/open-stream.ts';
import { failureOf } from '../failure-of.ts';

const MAX_MESSAGE = 1024 * 1024;

/** What a handler reads of a body that comes in these pieces. */
async function read(
  pieces: Iterable<Uint8Array>,
  headers: Record<string, string>,
  memory: BodyMemory = createBodyMemory(() => {}),
): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  const handler = async ({ body }: { body: AsyncIterable<Uint8Array> }) => {
    for await (const chunk of body) chunks.push(Buffer.from(chunk));
    return { status: 200 };
  };
  const source = (async function* () {
    yield* pieces;
  })();
  const bounded = boundedBody(handler as unknown as UniversalHandler, MAX_MESSAGE, memory);
  await bounded({
    httpVersion: '2.0',
    url: 'http://hub/',
    method: 'POST',
    header: new Headers(headers),
    body: source,
    signal: new AbortController().signal,
    contextValues: createContextValues(),
  });
  return chunks;
}

const CONNECT = { 'content-type': 'application/connect+json' };
const some = (count: number, one: Buffer) => Array.from({ length: count }, () => one);

describe('the body of a request', () => {
  it('reaches its handler message by message, in any pieces', async () => {
    const messages = ['{}', '', '{"a":1}'].map((text) => envelope(Buffer.from(text)));
    const bytes = Buffer.concat(messages);
    for (const size of [1, 2, 3, 7, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      expect(await read(pieces, CONNECT), `pieces of ${size}`).to.deep.equal(messages);
    }
  });

  it('costs no more time in pieces of one byte', async () => {
    const message = envelope(Buffer.alloc(200_000, 'x'));
    const pieces = Array.from(message, (_, index) => message.subarray(index, index + 1));
    const startedAt = performance.now();
    expect(await read(pieces, CONNECT)).to.deep.equal([message]);
    // The library alone looks at 20 000 000 000 pieces.
    expect(performance.now() - startedAt).to.be.below(5_000);
  });

  it('is decompressed by each protocol with envelopes', async () => {
    const plain = Buffer.from('{"a":1}');
    for (const [type, header] of [
      ['application/connect+proto', 'connect-content-encoding'],
      ['application/grpc', 'grpc-encoding'],
      ['application/grpc+json', 'grpc-encoding'],
      ['application/grpc-web+proto', 'grpc-encoding'],
    ] as const) {
      for (const [encoding, packed] of [
        ['gzip', gzipSync(plain)],
        ['br', brotliCompressSync(plain)],
      ] as const) {
        const chunks = await read([envelope(packed, 1)], { 'content-type': type, [header]: encoding });
        expect(chunks, `${type} ${encoding}`).to.deep.equal([envelope(plain)]);
      }
    }
  });

  it('ends with resource_exhausted beyond the limits of messages, bytes and decompressed bytes', async () => {
    const large = Buffer.alloc(MAX_MESSAGE - 5, 'x');
    // About 50 times as large when decompressed.
    const packed = gzipSync(Buffer.concat([randomBytes(20_000), Buffer.alloc(960_000)]));
    for (const [pieces, headers, words] of [
      [some(1_001, envelope(Buffer.alloc(0))), CONNECT, /1000 messages/],
      [[...some(3, envelope(large)), ...some(3, envelope(large.subarray(0, 500_000)))], CONNECT, /bytes$/],
      [some(5, envelope(packed, 1)), { ...CONNECT, 'connect-content-encoding': 'gzip' }, /decompressed$/],
      [[envelope(Buffer.alloc(MAX_MESSAGE + 1))], CONNECT, /message is larger/],
      [[large, large], { 'content-type': 'application/json' }, /request is larger/],
    ] as const) {
      const failure = await failureOf(read(pieces, headers));
      expect([failure.code, failure.rawMessage], String(words)).to.satisfy(
        ([code, text]: [Code, string]) => code === Code.ResourceExhausted && words.test(text),
      );
    }
    expect(await read(some(1_000, envelope(Buffer.alloc(0))), CONNECT)).to.have.length(1_000);
  });

  it('is refused while the requests of its caller, or all, use too much memory', async () => {
    let refusals = 0;
    const memory = createBodyMemory(() => {
      refusals += 1;
    });
    const half = 8 * 1024 * 1024;
    const [first, second] = [memory('one'), memory('one')];
    first.add(half);
    second.add(half);
    expect(() => memory('one').add(1)).to.throw(ConnectError, 'your requests');
    for (const caller of ['two', 'three', 'four']) memory(caller).add(2 * half);
    expect(() => memory('five').add(1)).to.throw(ConnectError, 'all requests');
    expect(refusals).to.equal(2);
    first.end();
    first.end();
    memory('five').add(half);
    second.release(half);
    memory('one').add(half);
  });
});

describe('a stream of reflection', () => {
  let listener: ReturnType<typeof createRpcListener>;
  let baseUrl: string;
  before(async () => {
    listener = createRpcListener({ services: createReflectionServices([Health]), interceptors: [] });
    await listen(listener.server, 0, '127.0.0.1', 'a port');
    baseUrl = urlOf(listener.server);
  });
  after(() => listener.close(0));

  const protocols = {
    'Connect, JSON': () => createConnectTransport({ baseUrl, httpVersion: '2', useBinaryFormat: false }),
    'Connect, binary': () => createConnectTransport({ baseUrl, httpVersion: '2' }),
    gRPC: () => createGrpcTransport({ baseUrl }),
    'gRPC, JSON': () => createGrpcTransport({ baseUrl, useBinaryFormat: false }),
    'gRPC-Web': () => createGrpcWebTransport({ baseUrl, httpVersion: '2' }),
  };
  for (const [protocol, transport] of Object.entries(protocols)) {
    it(`is answered message by message, and refused beyond a thousand, by ${protocol}`, async () => {
      const question = create(ServerReflectionRequestSchema, {
        messageRequest: { case: 'listServices', value: '' },
      });
      let asked = 0;
      async function* questions(): AsyncGenerator<ServerReflectionRequest> {
        for (; asked < 2_000; asked += 1) yield question;
      }
      let answered = 0;
      const failure = await failureOf(
        (async () => {
          for await (const _ of createClient(ServerReflection, transport()).serverReflectionInfo(questions()))
            answered += 1;
        })(),
      );
      expect(failure.code, failure.message).to.equal(Code.ResourceExhausted);
      expect(answered).to.equal(1_000);
    });
  }

  it('sends a file once, unless it is requested again', async () => {
    const file = (name: string) =>
      create(ServerReflectionRequestSchema, { messageRequest: { case: 'fileByFilename', value: name } });
    async function* questions(): AsyncGenerator<ServerReflectionRequest> {
      yield file('grpc/health/v1/health.proto');
      yield file('grpc/health/v1/health.proto');
      yield file('nothing.proto');
    }
    const answers: unknown[] = [];
    for await (const { messageResponse } of createClient(
      ServerReflection,
      createGrpcTransport({ baseUrl }),
    ).serverReflectionInfo(questions())) {
      answers.push(
        messageResponse.case === 'fileDescriptorResponse'
          ? messageResponse.value.fileDescriptorProto.length
          : messageResponse.case,
      );
    }
    expect(answers).to.deep.equal([1, 1, 'errorResponse']);
  });
});
