// hubctl callback: what payment providers sent, and what came of it.
import { type Command, Option } from 'commander';
import { NO_DEADLINE } from '../call-options.ts';
import type { Context } from '../context.ts';
import { pages } from '../pages.ts';
import { parseCount } from '../quantities.ts';
import { part } from '../reply.ts';
import {
  CALLBACK_COLUMNS,
  CALLBACK_FIELDS,
  CALLBACK_STATES,
  callbackView,
  VERIFICATION_COLUMNS,
  verificationView,
} from '../views/callback.ts';

type ListOptions = {
  state?: keyof typeof CALLBACK_STATES;
  gateway?: string;
  session?: string;
  max?: number;
};

const EXAMPLE_ID = 'cb_01k8e7v0c5eaxbgqm2tq1h9n3r';

export function registerCallback(program: Command, { hub, out }: Context): void {
  const callback = program
    .command('callback')
    .summary('callbacks of payment providers')
    .description('The calls of payment providers as they were journaled, and what came of them.');

  callback
    .command('list')
    .summary('list callbacks')
    .description('Lists callbacks, newest first; what is given has to match all at once.')
    .addOption(
      new Option('--state <state>', 'only those in this state').choices(Object.keys(CALLBACK_STATES)),
    )
    .option('--gateway <name>', 'only those of this gateway')
    .option('--session <sessionId>', 'only those of this session, chs_…')
    .option('--max <n>', 'at most so many (default: all)', parseCount)
    .addHelpText('after', '\nExample:\n  hubctl callback list --state dead')
    .action(async ({ state, gateway, session, max }: ListOptions) => {
      const { paymentAdmin } = await hub();
      const wanted = {
        ...(state !== undefined && { state: CALLBACK_STATES[state] }),
        ...(gateway !== undefined && { gateway }),
        ...(session !== undefined && { sessionId: session }),
      };
      const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
        const { callbacks, nextPageToken } = await paymentAdmin.listCallbacks({ ...wanted, ...page });
        return { items: callbacks.map(callbackView), next: nextPageToken };
      };
      const count = await out.list(pages(fetchPage, max), CALLBACK_COLUMNS);
      if (count === 0) out.note('No callback matches.');
    });

  callback
    .command('show')
    .summary('show a callback')
    .description('Shows a callback with its fields, and what the provider was asked on its behalf.')
    .argument('<callbackId>', 'the callback, cb_…')
    .addHelpText('after', `\nExample:\n  hubctl callback show ${EXAMPLE_ID}`)
    .action(async (callbackId: string) => {
      const { paymentAdmin } = await hub();
      const reply = await paymentAdmin.getCallback({ callbackId });
      const verifications = reply.verifications.map(verificationView);
      const view = { ...callbackView(part(reply.callback, 'callback')), verifications };
      await out.record(view, CALLBACK_FIELDS);
      if (out.json() || verifications.length === 0) return;
      await out.text('\n');
      await out.list([verifications], VERIFICATION_COLUMNS);
    });

  callback
    .command('replay')
    .summary('deal with a callback again')
    .description(
      'Deals with a callback again, from the start. Safe for any callback: a payment is settled once.',
    )
    .argument('<callbackId>', 'the callback, cb_…')
    .addHelpText('after', `\nExample:\n  hubctl callback replay ${EXAMPLE_ID}`)
    .action(async (callbackId: string) => {
      const { paymentAdmin } = await hub();
      const reply = await paymentAdmin.replayCallback({ callbackId }, NO_DEADLINE);
      await out.record(callbackView(part(reply.callback, 'callback')), CALLBACK_FIELDS);
    });
}
