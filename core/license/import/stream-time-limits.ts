// Limits the time in which the messages of a stream must arrive.
import { unlessAborted, withDeadline } from '../../../lib/net/deadline.ts';
import { HubError } from '../../errors.ts';

/** Milliseconds for each message, and for the whole stream. */
export type StreamTimeLimits = { readonly eachMs: number; readonly allMs: number };

/**
 * Yields the messages of a stream. Throws HubError `import_stalled` if the next one does not arrive in time.
 * The time that the reader takes between messages counts only towards the limit of the whole stream.
 */
export async function* limitStreamTime<T>(
  messages: AsyncIterable<T>,
  { eachMs, allMs }: StreamTimeLimits,
): AsyncGenerator<T, undefined> {
  const iterator = messages[Symbol.asyncIterator]();
  const endsAt = performance.now() + allMs;
  try {
    for (;;) {
      const waitMs = Math.max(0, Math.min(eachMs, endsAt - performance.now()));
      const next = await withDeadline(waitMs, undefined, (late) =>
        unlessAborted(iterator.next(), late).catch((error) => {
          throw late.aborted ? stalled() : error;
        }),
      );
      if (next.done === true) return undefined;
      yield next.value;
    }
  } finally {
    // Not awaited: a generator returns only after its current message.
    iterator.return?.().catch(() => {});
  }
}

function stalled(): HubError {
  const message = 'the licenses arrived too slowly; nothing was imported. Send fewer in one import';
  return new HubError('import_stalled', message, { field: 'licenses' });
}
