// Follows the stream of events, and connects again after an outage.
import type { Event } from '../../gen/hub/event/v1/event_pb.ts';
import type { WatchEventsResponse } from '../../gen/hub/event/v1/event_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import { NO_DEADLINE } from '../connect/calls.ts';
import { retryWhileDown } from '../connect/retry-while-down.ts';
import { CliError, EXIT } from '../errors/failure.ts';

export type EventFilter = {
  /** Types, or patterns such as `license.*`; empty means all. */
  readonly types: readonly string[];
  readonly app?: string | undefined;
  readonly slot?: string | undefined;
};

export type FollowOptions = {
  /** The stream begins after this cursor; if it is empty, with the next event. */
  readonly cursor?: string | undefined;
  /** Maximum milliseconds without a message. The hub sends one every 15 seconds. */
  readonly maxSilenceMs?: number;
  /** Called once, when the stream is open. */
  readonly onOpen?: () => Promise<void>;
};

const MAX_SILENCE_MS = 60_000;

/**
 * Calls `onEvent` for each event, one at a time, until the program ends. After an outage it continues after the last
 * cursor; an event may arrive twice.
 * @throws the errors of `onEvent` and of WatchEvents, such as `cursor_pruned`
 */
export async function followEvents(
  commandContext: CommandContext,
  { types, app, slot }: EventFilter,
  { maxSilenceMs = MAX_SILENCE_MS, cursor: first = '', onOpen }: FollowOptions,
  onEvent: (event: Event, cursor: string) => Promise<void>,
): Promise<never> {
  const { out } = commandContext;
  const filter = { types: [...types], app, slot };
  const retrying = retryWhileDown(commandContext, (message) => out.note(message ?? 'The hub answers again.'));
  let cursor = first;
  let isOpen = false;
  return retrying(async (answered) => {
    const call = new AbortController();
    try {
      const stream = commandContext.hub.events.watchEvents(
        { ...filter, cursor },
        { ...NO_DEADLINE, signal: call.signal },
      );
      for await (const message of untilSilent(stream, call, maxSilenceMs)) {
        answered();
        if (!isOpen) await onOpen?.();
        isOpen = true;
        if (message.event !== undefined) await onEvent(message.event, message.cursor);
        cursor = message.cursor;
      }
    } finally {
      call.abort(); // a client stream has no return()
    }
    throw new CliError('stream_ended', EXIT.unreachable, 'The hub ended the stream of events.');
  });
}

/** Ends the stream after `maxSilenceMs` without a message, because a broken connection may report no error. */
async function* untilSilent(
  stream: AsyncIterable<WatchEventsResponse>,
  call: AbortController,
  maxSilenceMs: number,
): AsyncGenerator<WatchEventsResponse> {
  const messages = stream[Symbol.asyncIterator]();
  for (;;) {
    const timer = setTimeout(() => call.abort(), maxSilenceMs);
    const next = await messages
      .next()
      .catch((error) => {
        if (!call.signal.aborted) throw error;
        const seconds = Math.round(maxSilenceMs / 1000);
        throw new CliError('stream_silent', EXIT.unreachable, `The hub has sent nothing for ${seconds} s.`);
      })
      .finally(() => clearTimeout(timer));
    if (next.done === true) return;
    yield next.value;
  }
}
