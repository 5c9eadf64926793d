// Follows a charge session and prints a line for each change.
import { doubtText } from '../story/session-story.ts';
import { NO_DEADLINE } from './call-options.ts';
import { endure } from './endure.ts';
import { CliError, EXIT } from './failure.ts';
import { printable, printableJson } from './printable.ts';
import { part } from './reply.ts';
import type { Tools } from './tools.ts';
import { shortTime } from './views/cells.ts';
import { type ChargeSessionView, chargeSessionView } from './views/charge-session.ts';

export type WatchOptions = { readonly untilFinal?: true };

/**
 * Prints until the session's status is final, if that is what is waited for, else until the program is stopped. Final is
 * what the provider itself said: anybody can send a callback. A hub that is away for a while is asked again.
 */
export async function watchSession(
  tools: Tools,
  sessionId: string,
  { untilFinal }: WatchOptions,
): Promise<void> {
  const { out } = tools;
  const { payments } = await tools.hub('payments');
  const line = out.json() ? printableJson : textLine;
  // To leave the loop does not end the call, whose connection would keep the program.
  const done = new AbortController();
  const hub = endure(tools, (message) => out.note(message ?? 'The hub answers again.'));
  let last = '';
  /** Prints one change; answers whether it is the last one to be waited for. */
  const print = async (view: ChargeSessionView): Promise<boolean> => {
    const text = line(view);
    if (text !== last) await out.text(`${text}\n`); // a stream begins with what is known already
    last = text;
    return untilFinal === true && view.status !== 'pending' && view.statusVerified;
  };
  try {
    await hub(async (answered) => {
      const call = { ...NO_DEADLINE, signal: done.signal };
      for await (const { session } of payments.watchChargeSession({ sessionId }, call)) {
        answered();
        if (await print(chargeSessionView(part(session, 'session')))) return;
      }
      throw new CliError('stream_ended', EXIT.unreachable, 'The hub stopped telling of changes.');
    });
  } finally {
    done.abort();
  }
}

function textLine({ statusChangedAt, status, statusReason, statusVerified }: ChargeSessionView): string {
  const why = statusReason + doubtText(status, statusVerified);
  return printable(`${shortTime(statusChangedAt)}  ${status.padEnd(9)}  ${why}`);
}
