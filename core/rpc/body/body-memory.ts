// Limits the memory for request bodies that are being received.
import { Code, ConnectError } from '@connectrpc/connect';
import { Quota } from '../../../lib/net/client-limits.ts';

/** Enough for 16 of the largest messages per token; four tokens can use all of it. */
const BODY_MEMORY = { perCaller: 16 * 1024 * 1024, total: 64 * 1024 * 1024 };

const RETRY_AFTER_SECONDS = '5';

export type BodyMemory = ReturnType<typeof createBodyMemory>;

/** The memory that one body uses. */
export type HeldBytes = ReturnType<BodyMemory>;

export function createBodyMemory(onRefusal: () => void) {
  const callers = new Quota<string>(BODY_MEMORY.perCaller);
  const total = new Quota<string>(BODY_MEMORY.total);
  return (caller: string) => {
    let held = 0;
    let isOver = false;
    const release = (bytes: number): void => {
      const released = Math.min(bytes, held);
      held -= released;
      callers.release(caller, released);
      total.release('all', released);
    };
    return {
      /** @throws ConnectError ResourceExhausted if the limit is reached */
      add(bytes: number): void {
        if (isOver) return;
        const ownIsFull = !callers.hasRoom(caller, bytes);
        if (ownIsFull || !total.hasRoom('all', bytes)) {
          onRefusal();
          throw new ConnectError(
            `${ownIsFull ? 'your' : 'all'} requests that are being received take too much memory; ` +
              `send fewer at a time`,
            Code.ResourceExhausted,
            { 'Retry-After': RETRY_AFTER_SECONDS },
          );
        }
        callers.take(caller, bytes);
        total.take('all', bytes);
        held += bytes;
      },
      release,
      /** Releases the rest. Later calls of `add` do nothing. */
      end(): void {
        isOver = true;
        release(held);
      },
    };
  };
}
