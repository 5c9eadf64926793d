// One input of a fuzz run: a request on the wire, and the data that judges the response.
import type { DescMethod } from '@bufbuild/protobuf';

/** How to read a response. `bytes`: any data. */
export type Protocol = 'rest' | 'connect' | 'connect-stream' | 'grpc' | 'grpc-web' | 'bytes';

export type Input = {
  readonly port: 'gateway' | 'rpc';
  /** The target in the report: a route or an RPC. */
  readonly target: string;
  readonly protocol: Protocol;
  readonly http: 1 | 2;
  readonly rpc?: DescMethod;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

/** The input in a form that can be repeated manually. */
export function inputText({ port, protocol, http, method, path, headers, body }: Input): string {
  const bytes = Buffer.from(body);
  const shown = /^[\x20-\x7e\r\n]*$/.test(bytes.toString('latin1'))
    ? bytes.toString()
    : `base64 ${bytes.toString('base64')}`;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const start = protocol === 'bytes' ? 'bytes on a socket' : `HTTP/${http} ${method} ${JSON.stringify(path)}`;
  return [`${protocol} on the ${port} port: ${start}`, ...lines, shown.slice(0, 4_000)].join('\n');
}
