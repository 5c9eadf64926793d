// hubctl refund: refunds and disputes of payments.
import type { Command } from 'commander';
import { REFUND_STATES } from '../../../lib/presentation/enum-names.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { readPages } from '../../connect/calls.ts';
import { addWatch, type ListingOptions, printList } from '../../output/watch-list.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { parseText } from '../../parse/parse-number.ts';
import { choiceOption, maxOption } from '../../parse/shared-options.ts';
import { REFUND, REFUND_COLUMNS, REFUND_FIELDS, refundView } from '../../views/payments/refund.ts';

type ListOptions = ListingOptions & {
  readonly session?: string;
  readonly slot?: string;
  readonly state?: keyof typeof REFUND_STATES;
  readonly needsReview?: true;
};

const EXAMPLE_ID = 'rfd_01k8e7qk3vf2tb5s0w9m4x6ydz';

export const registerRefund = nounOf(
  'refund',
  'Refunds of payments, including those that the merchant made at the provider, and disputes. `session refund` makes a refund.',
  [addListVerb, addShowVerb, addResolveVerb],
);

function addListVerb(refund: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  const listing = addVerb(refund, 'list', {
    summary: 'list refunds and disputes',
    description: 'Lists refunds and disputes, newest first. Filters combine with AND.',
    examples: ['hubctl refund list --needs-review', 'hubctl refund list --slot main --state pending'],
    prints: { list: REFUND },
  })
    .option('--session <sessionId>', 'only of this session')
    .option('--slot <slot>', 'only of this slot')
    .addOption(choiceOption('--state <state>', 'only in this state', REFUND_STATES))
    .option('--needs-review', 'only those that an operator has to review');
  addWatch(listing.addOption(maxOption())).action(
    async ({ session, slot, state, needsReview, ...options }: ListOptions) => {
      const wanted = omitUndefined({
        sessionId: session,
        slot,
        state: state && REFUND_STATES[state],
        needsReview,
      });
      const pages = readPages(hub.refunds.listRefunds, wanted, 'refunds', refundView);
      await printList(
        commandContext,
        { pages, columns: REFUND_COLUMNS, none: 'No refund matches.' },
        options,
      );
    },
  );
}

function addShowVerb(refund: Command, { hub, out }: CommandContext): void {
  addVerb(refund, 'show', {
    summary: 'show a refund',
    description: 'Shows the current state of a refund or a dispute.',
    examples: [`hubctl refund show ${EXAMPLE_ID}`],
    prints: { document: REFUND },
  })
    .argument('<refundId>', 'the refund, rfd_…')
    .action(async (refundId: string) => {
      const reply = await hub.refunds.getRefund({ refundId });
      await out.record(refundView(reply.refund), REFUND_FIELDS);
    });
}

function addResolveVerb(refund: Command, { hub, out }: CommandContext): void {
  addVerb(refund, 'resolve', {
    summary: 'mark a refund as reviewed',
    description:
      'Marks a refund that needs review as reviewed, with a note. Moves no money and changes no license.',
    examples: [`hubctl refund resolve ${EXAMPLE_ID} --resolution "released one of two seats"`],
    prints: { document: REFUND },
  })
    .argument('<refundId>', 'the refund, rfd_…')
    .requiredOption('--resolution <text>', 'what was done', parseText)
    .action(async (refundId: string, { resolution }: { resolution: string }) => {
      const reply = await hub.refunds.resolveRefund({ refundId, resolution });
      if (reply.unchanged) out.note('It was already reviewed: the first resolution stays.');
      await out.record(refundView(reply.refund), REFUND_FIELDS);
    });
}
