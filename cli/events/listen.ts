// Forwards events to a receiver on the developer's machine, and prints a line for each.
import type { CommandContext } from '../command-context.ts';
import { printable, printableJson } from '../output/printable.ts';
import type { ForwardedEventView } from '../views/events/forwarded.ts';
import { type EventFilter, followEvents } from './follow-events.ts';
import { createForwarder } from './forward-event.ts';

export type ListenOptions = EventFilter & {
  readonly forwardTo: string;
  readonly secret?: string | undefined;
};

/** Runs until the program ends. Prints a failed request, and does not repeat it. */
export async function listen(
  commandContext: CommandContext,
  { forwardTo, secret: given, ...filter }: ListenOptions,
): Promise<never> {
  const { out } = commandContext;
  const { secret, forward } = createForwarder(forwardTo, given);
  const onOpen = async (): Promise<void> => {
    const opened = { forwardTo, ...(given === undefined && { secret }) };
    if (out.json()) return out.text(`${printableJson(opened)}\n`);
    if (given === undefined) await out.text(`Secret: ${secret}\n`);
    out.note(`Forwarding events to ${forwardTo}. Ctrl-C ends.`);
  };
  const line = out.json() ? printableJson : textLine;
  return followEvents(commandContext, filter, { onOpen }, async (event) => {
    const { eventId, type } = event;
    await out.text(`${line({ eventId, type, ...(await forward(event)) })}\n`);
  });
}

function textLine({ eventId, type, status, problem, durationMs }: ForwardedEventView): string {
  return printable(`${type.padEnd(20)}  ${eventId}  ${status ?? problem}  ${durationMs} ms`);
}
