// Reads the first message of a stream and ends the call.
import type { CallOptions } from '@connectrpc/connect';

/** Leaving the loop does not end the call: the hub would send the whole stream. */
export async function takeFirst(call: (options: CallOptions) => AsyncIterable<unknown>): Promise<void> {
  const ending = new AbortController();
  for await (const _first of call({ signal: ending.signal })) break;
  ending.abort();
}
