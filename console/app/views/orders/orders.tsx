// Orders, newest first.

import { numberOf, ORDER_STATES } from '../../../../lib/presentation/enum-names.ts';
import { omitEmpty } from '../../../../lib/presentation/omit-empty.ts';
import { choicesWithAny } from '../../components/filters.tsx';
import { ListPage, timeFilter } from '../../components/list-page.tsx';
import { scopeFilter, useApps, useSlots } from '../../components/scope-filters.ts';
import { OrderTable } from '../../orders/order-table.tsx';
import { useSignedIn } from '../../sign-in-state.ts';

export function OrdersView() {
  const { hub } = useSignedIn();
  const apps = useApps();
  const slots = useSlots();
  return (
    <ListPage
      title="Orders"
      everyMs={10_000}
      filters={[
        { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(ORDER_STATES)) },
        scopeFilter('app', 'App', apps),
        scopeFilter('slot', 'Slot', slots),
        timeFilter('Paid', '30'),
        { name: 'customer', label: 'Customer', placeholder: 'cus_…' },
        { name: 'license', label: 'License', placeholder: 'lic_…' },
      ]}
      load={({ query: { state = '', app, slot, customer, license }, pageToken, from }, options) => {
        const ids = { customerId: customer, licenseId: license };
        const filter = omitEmpty({ app, slot, ...ids, createdFrom: from });
        return hub.orders.listOrders({ state: numberOf(ORDER_STATES, state), ...filter, pageToken }, options);
      }}
    >
      {({ orders }) => (
        <OrderTable orders={orders} empty="No order matches. Choose a longer period or remove a filter." />
      )}
    </ListPage>
  );
}
