// The options with which routes call RPCs.
import type { Call } from './routes.ts';

type RequestHeaders = { readonly 'x-request-id': string };

/**
 * For RPCs that change something. They get no signal: a change that has begun may be committed already, so it
 * completes after the client disconnects, and the client's retry gets its result.
 */
export function writeOptions({ requestId }: Pick<Call, 'requestId'>): { readonly headers: RequestHeaders } {
  return { headers: { 'x-request-id': requestId } };
}

/** For RPCs that only read. They end when the client disconnects. */
export function readOptions({ requestId, signal }: Pick<Call, 'requestId' | 'signal'>): {
  readonly headers: RequestHeaders;
  readonly signal?: AbortSignal;
} {
  return { headers: { 'x-request-id': requestId }, ...(signal && { signal }) };
}
