// hubctl order: what paid sessions bought.
import type { Command } from 'commander';
import { ORDER_STATES } from '../../../lib/presentation/enum-names.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { itemsOrExport } from '../../output/export-to-file.ts';
import { addFormat, type FormatOptions, printTableOrCsv } from '../../output/table-or-csv.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { choiceOption } from '../../parse/shared-options.ts';
import { ORDER, ORDER_COLUMNS, ORDER_CSV, orderView } from '../../views/orders/order.ts';
import * as json from '../../views/schema.ts';
import { addFilter, type FilterOptions, orderPages, readFilter } from './order-filter.ts';
import { addRetryVerb } from './order-retry.ts';
import { printOrder } from './print-order.ts';

type ListOptions = FilterOptions & FormatOptions & { readonly state?: keyof typeof ORDER_STATES };

export const registerOrder = nounOf(
  'order',
  'What paid sessions bought. The payment of a session with an offer makes one order, which issues or changes licenses. An order that the hub cannot fulfill is blocked; the payment stands. When the payment is refunded in full or reversed, the order is refunded.',
  [addListVerb, addShowVerb, addRetryVerb],
);

function addListVerb(order: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  const listing = addVerb(order, 'list', {
    summary: 'list orders',
    description: 'Lists orders, newest first. Filters combine with AND.',
    notes: ['CSV: RFC 4180 with a header. The licenses are separated by semicolons.'],
    examples: [
      'hubctl order list --state blocked',
      'hubctl order list --app photo-lab --from 2026-11-01 --to 2026-12-01 --format csv --out november.csv',
    ],
    prints: { document: itemsOrExport(json.list(ORDER), 'the orders') },
  }).addOption(choiceOption('--state <state>', 'only in this state', ORDER_STATES));
  addFormat(addFilter(listing), 'the orders').action(async ({ state, ...options }: ListOptions) => {
    const filter = { ...readFilter(options), ...omitUndefined({ state: state && ORDER_STATES[state] }) };
    const printed = {
      pages: orderPages(hub, filter),
      columns: ORDER_COLUMNS,
      csv: ORDER_CSV,
      none: 'No order matches.',
    };
    await printTableOrCsv(commandContext, printed, options);
  });
}

function addShowVerb(order: Command, { hub, out }: CommandContext): void {
  addVerb(order, 'show', {
    summary: 'show an order',
    description:
      'Shows an order and the licenses that it issued or changed. `session inspect` shows the payment, the order and the machines as one history.',
    examples: ['hubctl order show ord_01k8e7qk3vf2tb5s0w9m4x6ydz'],
    prints: { document: ORDER },
  })
    .argument('<order>', 'the order, ord_…, or its session, chs_…')
    .action(async (id: string) => {
      const reply = await hub.orders.getOrder({ order: id });
      await printOrder(out, orderView(reply.order));
    });
}
