// Selects the view of the current route.
import type { VNode } from 'preact';
import { Page } from '../components/page.tsx';
import { NAV_ENTRIES, navEntriesFor } from '../navigation.ts';
import { linkTo, useRoute } from '../route.ts';
import { useSignedIn } from '../signed-in.ts';
import { AppsView } from './apps.tsx';
import { AuditView } from './audit.tsx';
import { CallbackView } from './callback.tsx';
import { CallbacksView } from './callbacks.tsx';
import { CustomerView } from './customer.tsx';
import { CustomersView } from './customers.tsx';
import { EndpointView } from './events/endpoint.tsx';
import { EndpointsView } from './events/endpoints.tsx';
import { EventView } from './events/event.tsx';
import { EventsView } from './events/events.tsx';
import { HealthView } from './health.tsx';
import { LicenseView } from './license.tsx';
import { LicensesView } from './licenses.tsx';
import { MailsView } from './orders/mails.tsx';
import { OfferView } from './orders/offer.tsx';
import { OffersView } from './orders/offers.tsx';
import { OrderView } from './orders/order.tsx';
import { OrdersView } from './orders/orders.tsx';
import { OverviewView } from './overview.tsx';
import { RefundsView } from './refunds.tsx';
import { SessionView } from './session.tsx';
import { SessionsView } from './sessions.tsx';
import { SlotsView } from './slots.tsx';
import { UsageView } from './usage.tsx';

const LISTS: Readonly<Record<(typeof NAV_ENTRIES)[number]['path'], () => VNode>> = {
  '': OverviewView,
  sessions: SessionsView,
  orders: OrdersView,
  refunds: RefundsView,
  mails: MailsView,
  callbacks: CallbacksView,
  usage: UsageView,
  slots: SlotsView,
  offers: OffersView,
  licenses: LicensesView,
  customers: CustomersView,
  apps: AppsView,
  events: EventsView,
  endpoints: EndpointsView,
  health: HealthView,
  audit: AuditView,
};

const ONES: ReadonlyMap<string, (props: { readonly id: string }) => VNode> = new Map([
  ['sessions', SessionView],
  ['orders', OrderView],
  ['offers', OfferView],
  ['callbacks', CallbackView],
  ['licenses', LicenseView],
  ['customers', CustomerView],
  ['events', EventView],
  ['endpoints', EndpointView],
]);

export function View() {
  const who = useSignedIn();
  const { path } = useRoute();
  const [name = '', id] = path;
  const One = ONES.get(name);
  if (path.length === 2 && id !== undefined && One) return <One key={id} id={id} />;
  const place = NAV_ENTRIES.find((each) => each.path === name);
  if (place === undefined || path.length > 1) {
    return (
      <Page title="No such page">
        <p>
          There is nothing at this address. Begin at the <a href={linkTo([])}>overview</a>.
        </p>
      </Page>
    );
  }
  if (!navEntriesFor(who).some((each) => each.path === name)) {
    return (
      <Page title={place.title}>
        <p>Your token does not allow this page. docs/access.md lists the roles; an admin creates tokens.</p>
      </Page>
    );
  }
  const List = LISTS[place.path];
  return <List />;
}
