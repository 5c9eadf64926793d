// hubctl event tail, listen: the stream of events.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { collect } from '../../parse/shared-options.ts';
import { STREAMED_EVENT } from '../../views/events/event.ts';
import { FORWARDED_EVENT, LISTENING } from '../../views/events/forwarded.ts';
import * as json from '../../views/schema.ts';

type TailOptions = { type?: string[]; app?: string; slot?: string; cursor?: string };
type ListenOptions = { forwardTo: string; event?: string[]; app?: string; slot?: string; secret?: string };

export function addTailVerb(event: Command, commandContext: CommandContext): void {
  addVerb(event, 'tail', {
    summary: 'print events as they happen',
    description:
      'Prints a line for each event until Ctrl-C: time, cursor, type, object and event. If the hub restarts, it continues after the last event, for up to five minutes without a hub.',
    notes: [
      'To continue later, give the last cursor; an event may arrive twice. Ends with the code cursor_pruned if events after the cursor are pruned.',
    ],
    examples: [
      "hubctl event tail --type 'license.*' --app photo-lab",
      'hubctl event tail --cursor 1042 --output json',
    ],
    prints: { lines: STREAMED_EVENT },
  })
    .option('--type <pattern>', "only of this type, or of a pattern: 'license.*'; repeatable", collect)
    .option('--app <app>', 'only of this app')
    .option('--slot <slot>', 'only of this slot')
    .option(
      '--cursor <cursor>',
      'begin after this cursor; 0 begins with the first stored event (default: new events only)',
    )
    .action(async ({ type = [], app, slot, cursor }: TailOptions) => {
      const { tail } = await import('../../events/tail.ts');
      await tail(commandContext, { types: type, app, slot, cursor });
    });
}

export function addListenVerb(event: Command, commandContext: CommandContext): void {
  addVerb(event, 'listen', {
    summary: 'forward new events to a receiver on this machine',
    description:
      'For development: posts each new event to a URL until Ctrl-C, exactly as the hub delivers it to an endpoint, and prints the type, the event and the status of the answer. It needs no endpoint, and the hub does not connect to this machine.',
    notes: [
      'The command signs the requests with a new secret, and prints it first. To use the same secret each time, give it with --secret. A failed request is not repeated. Redirects are not followed; the receiver must answer within 15 seconds.',
    ],
    examples: [
      'hubctl event listen --forward-to http://localhost:3000/hook',
      "hubctl event listen --forward-to http://localhost:3000/hook --event 'session.*' --slot main",
    ],
    prints: {
      lines: json.either([LISTENING, FORWARDED_EVENT], 'first the secret, then an object for each event'),
    },
  })
    .requiredOption('--forward-to <url>', 'where to post events')
    .option('--event <pattern>', "only of this type, or of a pattern: 'license.*'; repeatable", collect)
    .option('--app <app>', 'only of this app')
    .option('--slot <slot>', 'only of this slot')
    .option(
      '--secret <secret>',
      'sign with this secret, whsec_…; other users can read the command line (default: a new one)',
    )
    .action(async ({ forwardTo, event: types = [], app, slot, secret }: ListenOptions) => {
      const { listen } = await import('../../events/listen.ts');
      await listen(commandContext, { forwardTo, types, app, slot, secret });
    });
}
