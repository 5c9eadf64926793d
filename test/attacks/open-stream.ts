// A stream of the RPC port over raw HTTP/2, which can send what no client library sends.
import type { ClientHttp2Session } from 'node:http2';

export const REFLECTION = 'grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
export const WATCH = 'grpc.health.v1.Health/Watch';

export type OpenStream = {
  /** Resolves once there is room for more, or the hub has answered. */
  write(bytes: Uint8Array): Promise<void>;
  /** Says that no more will be sent. */
  finish(): void;
  /** Whether the hub has ended its answer, or cut the stream. */
  isOver(): boolean;
  /** The last kilobyte that came back, with the status of gRPC. */
  answer(): string;
  /** Ends the request, and resolves to the answer once it has ended. */
  end(): Promise<string>;
};

const KEPT = 1024;

export function openStream(
  session: ClientHttp2Session,
  path: string,
  headers: Record<string, string>,
): OpenStream {
  const stream = session.request({ ':method': 'POST', ':path': `/${path}`, ...headers });
  let answer = '';
  const keep = (text: string): void => {
    answer = (answer + text).slice(-KEPT);
  };
  const over = Promise.withResolvers<void>();
  let isOver = false;
  const end = (): void => {
    isOver = true;
    over.resolve();
  };
  stream.on('error', () => {}); // the hub may cut it
  stream.on('response', (head) => keep(`${head[':status']} ${statusOf(head)}`));
  stream.on('data', (chunk: Buffer) => keep(chunk.toString('latin1')));
  stream.on('trailers', (trailers) => keep(statusOf(trailers)));
  stream.once('end', end).once('close', end);
  return {
    async write(bytes) {
      if (isOver) return;
      const taken = new Promise<void>((resolve) => void stream.write(bytes, () => resolve()));
      await Promise.race([taken, over.promise]);
    },
    finish: () => void stream.end(),
    isOver: () => isOver,
    answer: () => answer,
    async end() {
      if (!isOver) stream.end();
      await over.promise;
      stream.close();
      return answer;
    },
  };
}

function statusOf(headers: Record<string, unknown>): string {
  const [status, message] = [headers['grpc-status'], headers['grpc-message']];
  return status === undefined ? '' : ` grpc-status ${status}: ${decodeURIComponent(String(message))}`;
}

/** A message in the envelope of Connect streams, gRPC and gRPC-Web. */
export function envelope(message: Uint8Array, flags = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}
