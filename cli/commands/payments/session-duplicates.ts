// hubctl session list-duplicates and resolve-duplicate: sessions that were paid more than once.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { readPages } from '../../connect/calls.ts';
import { addWatch, type ListingOptions, printList } from '../../output/watch-list.ts';
import { parseText } from '../../parse/parse-number.ts';
import { maxOption } from '../../parse/shared-options.ts';
import {
  DUPLICATE_PAYMENT,
  DUPLICATE_PAYMENT_COLUMNS,
  DUPLICATE_PAYMENT_FIELDS,
  duplicatePaymentView,
} from '../../views/payments/duplicate-payment.ts';

type DuplicatesOptions = ListingOptions & { readonly slot?: string; readonly all?: boolean };

const EXAMPLE_ID = 'dup_01k8e7qk3vf2tb5s0w9m4x6ydz';

export function registerDuplicates(session: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  const listing = addVerb(session, 'list-duplicates', {
    summary: 'list duplicate payments',
    description:
      'Lists second payments of sessions that were already paid, newest first. The hub does not settle them: refund them at the provider, then mark them with `session resolve-duplicate`.',
    examples: ['hubctl session list-duplicates --slot main'],
    prints: { list: DUPLICATE_PAYMENT },
  })
    .option('--slot <slot>', 'only of this slot')
    .option('--all', 'include payments marked as handled');
  addWatch(listing.addOption(maxOption())).action(
    async ({ slot, all = false, ...options }: DuplicatesOptions) => {
      const { listDuplicatePayments } = hub.paymentAdmin;
      const wanted = { slot, includeResolved: all };
      const pages = readPages(listDuplicatePayments, wanted, 'duplicatePayments', duplicatePaymentView);
      const found = { pages, columns: DUPLICATE_PAYMENT_COLUMNS, none: 'There is no duplicate payment.' };
      await printList(commandContext, found, options);
    },
  );

  addVerb(session, 'resolve-duplicate', {
    summary: 'mark a duplicate payment as handled',
    description:
      'Marks a duplicate payment as handled, with a note. It moves no money: refund the payment at the provider first.',
    examples: [`hubctl session resolve-duplicate ${EXAMPLE_ID} --note "refunded at the provider"`],
    prints: { document: DUPLICATE_PAYMENT },
  })
    .argument('<duplicatePaymentId>', 'the duplicate payment, dup_…')
    .requiredOption('--note <text>', 'how it was handled', parseText)
    .action(async (duplicatePaymentId: string, { note }: { note: string }) => {
      const request = { duplicatePaymentId, resolution: note };
      const reply = await hub.paymentAdmin.resolveDuplicatePayment(request);
      if (reply.unchanged) out.note('It was already marked as handled: the first note stays.');
      await out.record(duplicatePaymentView(reply.duplicatePayment), DUPLICATE_PAYMENT_FIELDS);
    });
}
