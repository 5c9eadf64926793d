// A gRPC client of the reference implementation (grpc-js), for any service of the contract.
import {
  create,
  type DescMessage,
  type DescMethodServerStreaming,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import { Client, type ClientReadableStream, credentials, Metadata } from '@grpc/grpc-js';

export type GrpcClient = {
  /** Rejects with a grpc-js ServiceError. */
  unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    request: MessageInitShape<I>,
    options?: { timeoutMs?: number },
  ): Promise<MessageShape<O>>;
  stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    request: MessageInitShape<I>,
  ): ClientReadableStream<MessageShape<O>>;
  close(): void;
};

export function createGrpcClient(rpcUrl: string, token?: string): GrpcClient {
  const client = new Client(new URL(rpcUrl).host, credentials.createInsecure());
  const metadata = new Metadata();
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`);
  return {
    unary: (method, request, { timeoutMs = 5_000 } = {}) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          pathOf(method),
          (message) => Buffer.from(toBinary(method.input, message)),
          (bytes) => fromBinary(method.output, bytes),
          create(method.input, request),
          metadata,
          { deadline: Date.now() + timeoutMs },
          (error, answer) => (answer === undefined ? reject(error) : resolve(answer)),
        );
      }),
    stream: (method, request) =>
      client.makeServerStreamRequest(
        pathOf(method),
        (message) => Buffer.from(toBinary(method.input, message)),
        (bytes) => fromBinary(method.output, bytes),
        create(method.input, request),
        metadata,
      ),
    close: () => client.close(),
  };
}

function pathOf({ parent, name }: { parent: { typeName: string }; name: string }): string {
  return `/${parent.typeName}/${name}`;
}
