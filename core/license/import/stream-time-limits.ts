// Limits the time in which the messages of a stream must arrive.
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
      const waitMs = Math.min(eachMs, endsAt - performance.now());
      const next = await within(iterator.next(), waitMs);
      if (next.done === true) return undefined;
      yield next.value;
    }
  } finally {
    // Not awaited: a generator returns only after its current message.
    iterator.return?.().catch(() => {});
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(stalled()), Math.max(0, ms));
  });
  try {
    return await Promise.race([promise, tooLate]);
  } finally {
    clearTimeout(timer);
    promise.catch(() => {}); // it may fail after the time limit
  }
}

function stalled(): HubError {
  const message = 'the licenses arrived too slowly; nothing was imported. Send fewer in one import';
  return new HubError('import_stalled', message, { field: 'licenses' });
}
