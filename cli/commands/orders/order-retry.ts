// hubctl order retry: fulfills one blocked order, or all that match a filter.
import type { Command } from 'commander';
import { counted } from '../../../lib/presentation/counted.ts';
import { ORDER_STATES } from '../../../lib/presentation/enum-names.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { CliError, EXIT, usageError } from '../../errors/failure.ts';
import { changeEach, findAll } from '../../interrupt/change-each.ts';
import type { Output } from '../../output/output.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import { yesOption } from '../../parse/shared-options.ts';
import { ORDER, ORDER_COLUMNS, type OrderView, orderView } from '../../views/orders/order.ts';
import * as json from '../../views/schema.ts';
import { addFilter, type FilterOptions, type OrderFilter, orderPages, readFilter } from './order-filter.ts';
import { printOrder } from './print-order.ts';

type RetryOptions = FilterOptions & {
  readonly blocked?: true;
  readonly dryRun?: true;
  readonly yes?: true;
};

const UNFULFILLED_ORDER = json.object('UnfulfilledOrder', {
  orderId: json.text('the order'),
  code: json.text('`order_blocked` if it is still blocked, otherwise the error code'),
  message: json.text('why it is not fulfilled'),
});
type UnfulfilledOrder = json.ValueOf<typeof UNFULFILLED_ORDER>;

const RETRIED_ORDERS = json.object('RetriedOrders', {
  matched: json.integer('how many blocked orders matched the filter'),
  fulfilled: json.integer('how many of them were fulfilled'),
  unfulfilled: json.list(UNFULFILLED_ORDER, 'the others'),
});

const EXAMPLE_ID = 'ord_01k8e7qk3vf2tb5s0w9m4x6ydz';

export function addRetryVerb(order: Command, commandContext: CommandContext): void {
  const retry = addVerb(order, 'retry', {
    summary: 'fulfill blocked orders',
    description:
      'Tries to fulfill a blocked order: issues or changes its licenses by the terms that were sold. A fulfilled order stays as it is, and a refunded one is refused. Exits 1 if an order is still blocked.',
    notes: [
      'With --blocked, the filter chooses the orders: the command shows how many, asks for confirmation (without a terminal it requires --yes), and goes on after an order that cannot be fulfilled.',
    ],
    examples: [`hubctl order retry ${EXAMPLE_ID}`, 'hubctl order retry --blocked --app photo-lab --dry-run'],
    prints: {
      document: json.either(
        [ORDER, RETRIED_ORDERS, json.list(ORDER)],
        'the order; with --blocked a count; with --dry-run the orders',
      ),
    },
  })
    .argument('[order]', 'the order, ord_…, or its session, chs_…')
    .option('--blocked', 'all blocked orders that match the filter');
  addFilter(retry)
    .option('--dry-run', 'with --blocked: list the orders that match, and change nothing')
    .addOption(yesOption())
    .action(async (id: string | undefined, options: RetryOptions) => {
      const filter = readFilter(options);
      if (options.blocked && id !== undefined) throw usageError('Give an order or --blocked, not both.');
      if (options.blocked) return retryMany(commandContext, filter, options);
      if (id === undefined) throw usageError('Give an order, or --blocked for all blocked ones.');
      if (options.dryRun || Object.keys(filter).length > 0)
        throw usageError('A filter and --dry-run need --blocked instead of an order.');
      await retryOne(commandContext, id);
    });
}

async function retryOne({ hub, out }: CommandContext, id: string): Promise<void> {
  const reply = await hub.orders.retryOrder({ order: id });
  const view = orderView(reply.order);
  await printOrder(out, view);
  if (view.state === 'fulfilled') return;
  throw stillBlocked(`The order is still blocked: ${view.reason}.`);
}

async function retryMany(
  commandContext: CommandContext,
  filter: OrderFilter,
  options: RetryOptions,
): Promise<void> {
  const { hub, out, requireYes } = commandContext;
  const pages = orderPages(hub, { ...filter, state: ORDER_STATES.blocked })();
  const found = await findAll(commandContext, pages, NOUN);
  const count = counted(found.length, NOUN);
  if (options.dryRun) {
    await out.list([found], ORDER_COLUMNS);
    out.note(`${count} would be retried. Nothing was changed.`);
    return;
  }
  if (found.length === 0) {
    out.note('No blocked order matches.');
    return printResult(out, { matched: 0, fulfilled: 0, unfulfilled: [] });
  }
  await requireYes({
    yes: options.yes,
    verb: 'retry',
    question: () => `Retry ${count}${sample(found)}?`,
    otherwise: 'No order was retried.',
  });
  const blocked: UnfulfilledOrder[] = [];
  const { changed, failed } = await changeEach(commandContext, {
    ids: found.map(({ orderId }) => orderId),
    noun: NOUN,
    done: 'fulfilled',
    change: async (id) => {
      const { state, reason } = orderView((await hub.orders.retryOrder({ order: id })).order);
      if (state !== 'fulfilled') blocked.push({ orderId: id, code: BLOCKED, message: reason ?? state });
      return state === 'fulfilled';
    },
  });
  const unfulfilled = [...blocked, ...failed.map(({ id, ...why }) => ({ orderId: id, ...why }))];
  await printResult(out, { matched: found.length, fulfilled: changed, unfulfilled });
  if (unfulfilled.length === 0) return;
  throw stillBlocked(`${unfulfilled.length} of ${count} could not be fulfilled.`);
}

const BLOCKED = 'order_blocked';
const NOUN = 'blocked order';

function stillBlocked(message: string): CliError {
  return new CliError(BLOCKED, EXIT.failed, message);
}

async function printResult(out: Output, result: json.ValueOf<typeof RETRIED_ORDERS>): Promise<void> {
  await out.record(result, RESULT_FIELDS);
  await out.below(result.unfulfilled, UNFULFILLED_COLUMNS);
}

const RESULT_FIELDS: readonly Column<json.ValueOf<typeof RETRIED_ORDERS>>[] = [
  ...columnsOf(RETRIED_ORDERS, 'matched', 'fulfilled'),
  { title: 'Not fulfilled', cell: (item) => item.unfulfilled.length },
];

const UNFULFILLED_COLUMNS = columnsOf(UNFULFILLED_ORDER, 'orderId', { message: 'Why' });

/** ` (the first: ord_… of demo/renewal: this license has been revoked)` */
function sample([first]: readonly OrderView[]): string {
  return first === undefined ? '' : ` (the first: ${first.orderId} of ${first.offer}: ${first.reason})`;
}
