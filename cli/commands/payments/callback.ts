// hubctl callback: callbacks of payment providers and their results.
import type { Command } from 'commander';
import { CALLBACK_STATES } from '../../../lib/presentation/enum-names.ts';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { NO_DEADLINE, readPages } from '../../connect/calls.ts';
import { addWatch, type ListingOptions, printList } from '../../output/watch-list.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { choiceOption, maxOption } from '../../parse/shared-options.ts';
import {
  CALLBACK,
  CALLBACK_COLUMNS,
  CALLBACK_FIELDS,
  CALLBACK_WITH_VERIFICATIONS,
  callbackView,
  FIELD_COLUMNS,
  VERIFICATION_COLUMNS,
  verificationView,
} from '../../views/payments/callback.ts';

type ListOptions = ListingOptions & {
  state?: keyof typeof CALLBACK_STATES;
  gateway?: string;
  session?: string;
};

const EXAMPLE_ID = 'cb_01k8e7v0c5eaxbgqm2tq1h9n3r';

export function registerCallback(program: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  const callback = addNoun(
    program,
    'callback',
    'Journaled callbacks of payment providers and their results.',
  );

  const list = addVerb(callback, 'list', {
    summary: 'list callbacks',
    description: 'Lists callbacks, newest first. Filters combine with AND.',
    examples: ['hubctl callback list --state dead', 'hubctl callback list --watch'],
    prints: { list: CALLBACK },
  })
    .addOption(choiceOption('--state <state>', 'only in this state', CALLBACK_STATES))
    .option('--gateway <gateway>', 'only of this gateway')
    .option('--session <sessionId>', 'only of this session, chs_…')
    .addOption(maxOption());
  addWatch(list).action(async ({ state, gateway, session, ...options }: ListOptions) => {
    const wanted = omitUndefined({ state: state && CALLBACK_STATES[state], gateway, sessionId: session });
    const pages = readPages(hub.paymentAdmin.listCallbacks, wanted, 'callbacks', callbackView);
    const listing = { pages, columns: CALLBACK_COLUMNS, none: 'No callback matches.' };
    await printList(commandContext, listing, options);
  });

  addVerb(callback, 'show', {
    summary: 'show a callback',
    description: 'Shows a callback with its fields and the verifications that it caused.',
    examples: [`hubctl callback show ${EXAMPLE_ID}`],
    prints: { document: CALLBACK_WITH_VERIFICATIONS },
  })
    .argument('<callbackId>', 'the callback, cb_…')
    .action(async (callbackId: string) => {
      const reply = await hub.paymentAdmin.getCallback({ callbackId });
      const verifications = reply.verifications.map(verificationView);
      const view = { ...callbackView(reply.callback), verifications };
      await out.record(view, CALLBACK_FIELDS);
      const fields = Object.entries(view.fields).map(([name, value]) => ({ name, value }));
      await out.below(fields, FIELD_COLUMNS);
      await out.below(verifications, VERIFICATION_COLUMNS);
    });

  addVerb(callback, 'replay', {
    summary: 'process a callback again',
    description: 'Processes a callback again from the start. Safe for any callback: a payment settles once.',
    examples: [`hubctl callback replay ${EXAMPLE_ID}`],
    prints: { document: CALLBACK },
  })
    .argument('<callbackId>', 'the callback, cb_…')
    .action(async (callbackId: string) => {
      const reply = await hub.paymentAdmin.replayCallback({ callbackId }, NO_DEADLINE);
      await out.record(callbackView(reply.callback), CALLBACK_FIELDS);
    });
}
