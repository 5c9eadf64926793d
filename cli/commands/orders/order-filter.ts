// The options that choose orders, of `order list` and `order retry`.
import type { Command } from 'commander';
import type { ORDER_STATES } from '../../../lib/presentation/enum-names.ts';
import { readPages } from '../../connect/calls.ts';
import type { Hub } from '../../connect/connection.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { checkPeriod, timestampOf } from '../../parse/parse-time.ts';
import { addPeriod } from '../../parse/shared-options.ts';
import { orderView } from '../../views/orders/order.ts';

export type FilterOptions = {
  readonly app?: string;
  readonly offer?: string;
  readonly slot?: string;
  readonly customerId?: string;
  readonly license?: string;
  readonly from?: Date;
  readonly to?: Date;
};

export function addFilter(command: Command): Command {
  return addPeriod(
    command
      .option('--app <app>', 'only of this app')
      .option('--offer <offer>', 'only of this offer, app/slug or ofr_…')
      .option('--slot <slot>', 'only paid through this slot')
      .option('--customer-id <customerId>', 'only of this customer, cus_…')
      .option('--license <licenseId>', 'only those that issued or changed this license, lic_…'),
    'those paid',
  );
}

/** @throws CliError (usage) for a period that ends before it begins */
export function readFilter(options: FilterOptions) {
  const { app, offer, slot, customerId, license, from, to } = options;
  checkPeriod(from, to);
  return omitUndefined({
    app,
    offer,
    slot,
    customerId,
    licenseId: license,
    createdFrom: from && timestampOf(from),
    createdTo: to && timestampOf(to),
  });
}

export type OrderFilter = ReturnType<typeof readFilter> & {
  readonly state?: (typeof ORDER_STATES)[keyof typeof ORDER_STATES];
};

export function orderPages({ orders }: Pick<Hub, 'orders'>, filter: OrderFilter) {
  return readPages(orders.listOrders, filter, 'orders', orderView);
}
