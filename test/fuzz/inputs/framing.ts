// Parses responses: frames of streams, and compressed data.
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { Answer } from '../send.ts';
import type { Protocol } from './input.ts';

/** The whole body as text, decompressed to find secrets in it. */
export function legibleBody(protocol: Protocol, { headers, body }: Answer): string {
  if (protocol === 'rest' || protocol === 'bytes' || protocol === 'connect')
    return `${decoded(body, headers)}`;
  const coding = headers['grpc-encoding'] ?? headers['connect-content-encoding'];
  // Other bodies are not framed.
  return [body, ...frames(body).map((frame) => unframed(frame, coding))].join('\n');
}

/** The message in a frame. A flag shows whether it is compressed. */
export function unframed({ flags, data }: Frame, coding = ''): Buffer {
  return flags & 1 ? decoded(data, { 'content-encoding': coding }) : data;
}

export function decoded(body: Buffer, { 'content-encoding': coding }: Answer['headers']): Buffer {
  if (coding === 'gzip') return gunzipSync(body);
  return coding === 'br' ? brotliDecompressSync(body) : body;
}

export type Frame = { readonly flags: number; readonly data: Buffer };

export function frames(body: Buffer): Frame[] {
  const found: Frame[] = [];
  for (let at = 0; at + 5 <= body.length; ) {
    const end = at + 5 + body.readUInt32BE(at + 1);
    if (end > body.length) break; // truncated
    found.push({ flags: body.readUInt8(at), data: body.subarray(at + 5, end) });
    at = end;
  }
  return found;
}
