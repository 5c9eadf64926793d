// Receives a hub's traces by OTLP over HTTP, and parses them with the protocol's own messages.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createFileRegistry, type DescMessage, fromBinary, toJson } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

export type Attributes = { readonly [name: string]: string | number | boolean };

export type SentSpan = {
  /** Ids are lower-case hex. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: 'internal' | 'server' | 'client';
  readonly attributes: Attributes;
  readonly links: readonly { readonly traceId: string; readonly spanId: string; readonly state?: string }[];
  readonly failed: boolean;
  /** The sender. */
  readonly resource: Attributes;
};

export type OtlpReceiver = {
  readonly url: string;
  /** All spans so far. */
  readonly spans: readonly SentSpan[];
  /** The raw requests, for text searches. */
  raw(): string;
  /** Headers of the last request. */
  readonly headers: { readonly [name: string]: unknown };
  close(): Promise<void>;
};

const KINDS = ['internal', 'internal', 'server', 'client'] as const;

export async function startReceiver(): Promise<OtlpReceiver> {
  const request = await readProtocol();
  const spans: SentSpan[] = [];
  const bodies: Buffer[] = [];
  let headers = {};
  const server = createServer(async (req, res) => {
    headers = req.headers;
    const body = await buffer(req);
    bodies.push(body);
    spans.push(...spansIn(toJson(request, fromBinary(request, body)) as TraceRequest)); // this type
    res.setHeader('content-type', 'application/x-protobuf').end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // a TCP server has a port
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    raw: () => Buffer.concat(bodies).toString('latin1'),
    get headers() {
      return headers;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

type KeyValue = {
  readonly key: string;
  readonly value?: {
    readonly stringValue?: string;
    readonly boolValue?: boolean;
    readonly intValue?: string;
    readonly doubleValue?: number;
  };
};
type Bytes = string | undefined;
type TraceRequest = {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly KeyValue[] };
    readonly scopeSpans?: readonly {
      readonly spans?: readonly {
        readonly traceId?: Bytes;
        readonly spanId?: Bytes;
        readonly parentSpanId?: Bytes;
        readonly name?: string;
        readonly kind?: number;
        readonly attributes?: readonly KeyValue[];
        readonly links?: readonly {
          readonly traceId?: Bytes;
          readonly spanId?: Bytes;
          readonly traceState?: string;
        }[];
        readonly status?: { readonly code?: number };
      }[];
    }[];
  }[];
};

function spansIn({ resourceSpans = [] }: TraceRequest): SentSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) =>
    scopeSpans.flatMap(({ spans = [] }) =>
      spans.map(({ traceId, spanId, parentSpanId, name = '', kind = 0, attributes, links = [], status }) => ({
        traceId: hex(traceId),
        spanId: hex(spanId),
        parentSpanId: hex(parentSpanId),
        name,
        kind: KINDS[kind] ?? 'internal',
        attributes: membersOf(attributes),
        links: links.map(({ traceId, spanId, traceState: state }) => ({
          traceId: hex(traceId),
          spanId: hex(spanId),
          ...(state && { state }),
        })),
        failed: status?.code === 2,
        resource: membersOf(resource?.attributes),
      })),
    ),
  );
}

function hex(base64: Bytes = ''): string {
  return Buffer.from(base64, 'base64').toString('hex');
}

function membersOf(attributes: readonly KeyValue[] = []): Attributes {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, boolValue, intValue, doubleValue } = {} }) => [
      key,
      stringValue ?? boolValue ?? doubleValue ?? Number(intValue),
    ]),
  );
}

async function readProtocol(): Promise<DescMessage> {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const { stdout } = await promisify(execFile)(
    `${root}node_modules/.bin/buf`,
    ['build', 'test/support/otlp', '--as-file-descriptor-set', '-o', '-#format=binpb'],
    { cwd: root, encoding: 'buffer' },
  );
  const message = createFileRegistry(fromBinary(FileDescriptorSetSchema, stdout)).getMessage(
    'otlp.TraceRequest',
  );
  if (message === undefined) throw new Error('trace.proto has no TraceRequest');
  return message;
}
