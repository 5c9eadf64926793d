// Follows a charge session and prints a line for each change.
import { unconfirmedText } from '../../lib/presentation/session-timeline.ts';
import type { CommandContext } from '../command-context.ts';
import { NO_DEADLINE } from '../connect/calls.ts';
import { retryWhileDown } from '../connect/retry-while-down.ts';
import { CliError, EXIT } from '../errors/failure.ts';
import { shortTime } from '../views/cells.ts';
import { type ChargeSessionView, chargeSessionView } from '../views/payments/charge-session.ts';
import { printable, printableJson } from './printable.ts';

export type WatchOptions = { readonly untilFinal?: true };

/**
 * Prints changes until the session's status is final, if requested, otherwise until the program is stopped.
 * Only the provider's own answer makes a status final: anybody can send a callback. Reconnects while the hub
 * is unreachable.
 */
export async function watchSession(
  commandContext: CommandContext,
  sessionId: string,
  { untilFinal }: WatchOptions,
): Promise<void> {
  const { out } = commandContext;
  const line = out.json() ? printableJson : textLine;
  // Leaving the loop does not end the call, and its connection would keep the program running.
  const done = new AbortController();
  const retrying = retryWhileDown(commandContext, (message) => out.note(message ?? 'The hub answers again.'));
  let last = '';
  /** Prints one change. Returns whether to stop. */
  const print = async (view: ChargeSessionView): Promise<boolean> => {
    const text = line(view);
    if (text !== last) await out.text(`${text}\n`); // a stream starts with the current state
    last = text;
    return untilFinal === true && view.status !== 'pending' && view.statusVerified;
  };
  try {
    await retrying(async (answered) => {
      const call = { ...NO_DEADLINE, signal: done.signal };
      for await (const { session } of commandContext.hub.payments.watchChargeSession({ sessionId }, call)) {
        answered();
        if (await print(chargeSessionView(session))) return;
      }
      throw new CliError('stream_ended', EXIT.unreachable, 'The hub ended the stream of changes.');
    });
  } finally {
    done.abort();
  }
}

function textLine({ statusChangedAt, status, statusReason, statusVerified }: ChargeSessionView): string {
  const why = statusReason + unconfirmedText(status, statusVerified);
  return printable(`${shortTime(statusChangedAt)}  ${status.padEnd(9)}  ${why}`);
}
