// Prints a line for each event.
import type { CommandContext } from '../command-context.ts';
import { printable, printableJson } from '../output/printable.ts';
import { shortTime } from '../views/cells.ts';
import { eventWithDataView, type StreamedEventView } from '../views/events/event.ts';
import { type EventFilter, followEvents } from './follow-events.ts';

/** Runs until the program ends. */
export async function tail(
  commandContext: CommandContext,
  { cursor, ...filter }: EventFilter & { readonly cursor?: string | undefined },
): Promise<never> {
  const { out } = commandContext;
  const line = out.json() ? printableJson : textLine;
  return followEvents(commandContext, filter, { cursor }, (event, position) =>
    out.text(`${line({ cursor: position, ...eventWithDataView(event) })}\n`),
  );
}

function textLine({ cursor, createdAt, type, object, eventId }: StreamedEventView): string {
  return printable(`${shortTime(createdAt)}  ${cursor}  ${type.padEnd(20)}  ${object}  ${eventId}`);
}
