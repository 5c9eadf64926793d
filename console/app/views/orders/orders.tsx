// Orders, newest first.

import { numberOf, ORDER_STATES } from '../../../../lib/presentation/enum-names.ts';
import { omitEmpty } from '../../../../lib/presentation/omit-empty.ts';
import { choicesWithAny } from '../../components/filters.tsx';
import { ListPage } from '../../components/page.tsx';
import { scopeFilter, useApps, useSlots } from '../../components/scope-filters.ts';
import { TIME_RANGES, useList } from '../../list.ts';
import { OrderTable } from '../../orders/order-table.tsx';
import { useSignedIn } from '../../signed-in.ts';

const EVERY_MS = 10_000;

export function OrdersView() {
  const { hub } = useSignedIn();
  const apps = useApps();
  const slots = useSlots();
  const live = useList({
    everyMs: EVERY_MS,
    scope: [apps.chosen, slots.chosen],
    span: '30',
    load: ({ query: { state = '', customer, license }, pageToken, from }, options) => {
      const filter = omitEmpty({
        app: apps.chosen,
        slot: slots.chosen,
        customerId: customer,
        licenseId: license,
        createdFrom: from,
      });
      return hub.orders.listOrders({ state: numberOf(ORDER_STATES, state), ...filter, pageToken }, options);
    },
  });
  return (
    <ListPage
      title="Orders"
      live={live}
      filters={[
        { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(ORDER_STATES)) },
        scopeFilter('app', 'App', apps),
        scopeFilter('slot', 'Slot', slots),
        { name: 'span', label: 'Paid', choices: TIME_RANGES, otherwise: '30' },
        { name: 'customer', label: 'Customer', placeholder: 'cus_…' },
        { name: 'license', label: 'License', placeholder: 'lic_…' },
      ]}
    >
      {({ orders }) => (
        <OrderTable orders={orders} empty="No order matches. Choose a longer period or remove a filter." />
      )}
    </ListPage>
  );
}
