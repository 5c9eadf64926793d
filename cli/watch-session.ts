// Follows a charge session and prints a line for each change.
import { NO_DEADLINE } from './call-options.ts';
import type { Context } from './context.ts';
import { CliError, EXIT } from './failure.ts';
import { printable, printableJson } from './printable.ts';
import { part } from './reply.ts';
import { shortTime } from './views/cells.ts';
import { type ChargeSessionView, chargeSessionView } from './views/charge-session.ts';

export type WatchOptions = { readonly untilFinal?: true };

/**
 * Prints until the session's status is final, if that is what is waited for, else until the program is stopped.
 *
 * @throws CliError if the hub ends the stream before.
 */
export async function watchSession(
  { hub, out }: Context,
  sessionId: string,
  { untilFinal }: WatchOptions,
): Promise<void> {
  const { payments } = await hub();
  const line = out.json() ? printableJson : textLine;
  // To leave the loop does not end the call, whose connection would keep the program.
  const done = new AbortController();
  const call = { ...NO_DEADLINE, signal: done.signal };
  try {
    for await (const { session } of payments.watchChargeSession({ sessionId }, call)) {
      const view = chargeSessionView(part(session, 'session'));
      await out.text(`${line(view)}\n`);
      if (untilFinal && view.status !== 'pending') return;
    }
  } finally {
    done.abort();
  }
  throw new CliError('stream_ended', EXIT.failed, 'The hub stopped telling of changes. Watch again.');
}

function textLine({ statusChangedAt, status, statusReason }: ChargeSessionView): string {
  return printable(`${shortTime(statusChangedAt)}  ${status.padEnd(9)}  ${statusReason}`);
}
