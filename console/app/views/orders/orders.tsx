// Orders, newest first.
import { numberOf, ORDER_STATES } from '../../../../lib/presentation/words.ts';
import { choicesWithAny, Filters } from '../../components/filters.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { scopeFilter, useApps, useSlots } from '../../components/scope-filters.ts';
import { useLive } from '../../live.ts';
import { OrderTable } from '../../orders/order-table.tsx';
import { useRoute } from '../../route.ts';
import type { SignedIn } from '../../signed-in.ts';
import { rangeStart, sinceOf, TIME_RANGES } from '../../time-ranges.ts';

const EVERY_MS = 10_000;

export function OrdersView({ who }: { readonly who: SignedIn }) {
  const { query } = useRoute();
  const [apps, slots] = [useApps(who), useSlots(who)];
  const { state = '', customer, license, after = '', since, span = '30' } = query;
  const [app, slot] = [query['app'] ?? apps.only, query['slot'] ?? slots.only];
  const live = useLive(JSON.stringify([query, app, slot]), EVERY_MS, async (signal) => {
    const createdFrom = rangeStart(span, since);
    const page = await who.hub.orders.listOrders(
      {
        state: numberOf(ORDER_STATES, state),
        ...(app && { app }),
        ...(slot && { slot }),
        ...(customer && { customerId: customer }),
        ...(license && { licenseId: license }),
        ...(createdFrom && { createdFrom }),
        pageToken: after,
      },
      { signal },
    );
    return { ...page, since: sinceOf(createdFrom) };
  });
  return (
    <Page title="Orders">
      <Filters
        filters={[
          { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(ORDER_STATES)) },
          scopeFilter('app', 'App', apps),
          scopeFilter('slot', 'Slot', slots),
          { name: 'span', label: 'Paid', choices: TIME_RANGES, otherwise: '30' },
          { name: 'customer', label: 'Customer', placeholder: 'cus_…' },
          { name: 'license', label: 'License', placeholder: 'lic_…' },
        ]}
      />
      <Loaded live={live}>
        {({ orders, nextPageToken, since }) => (
          <>
            <OrderTable
              orders={orders}
              empty="No order matches. Choose a longer period or remove a filter."
            />
            <Pager next={nextPageToken} since={since} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
