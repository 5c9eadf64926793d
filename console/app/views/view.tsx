// The pages of the console, and the view of the current route.
import type { VNode } from 'preact';
import { Page } from '../components/page.tsx';
import type { MethodName } from '../hub.ts';
import { linkTo, useRoute } from '../route.ts';
import { canSeeOrders, type SignedIn, useSignedIn } from '../sign-in-state.ts';
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

/** `needs`: the method that the list calls. `One`: the page of one object of the list. */
type Place = readonly [
  path: string,
  title: string,
  needs: MethodName | undefined,
  List: () => VNode,
  One?: (props: { readonly id: string }) => VNode,
];

const PLACES: readonly Place[] = [
  ['', 'Overview', undefined, OverviewView],
  ['sessions', 'Sessions', 'payments.listChargeSessions', SessionsView, SessionView],
  ['orders', 'Orders', 'orders.listOrders', OrdersView, OrderView],
  ['refunds', 'Refunds', 'refunds.listRefunds', RefundsView],
  ['mails', 'Mails', 'mails.listMails', MailsView],
  ['callbacks', 'Callbacks', 'paymentAdmin.listCallbacks', CallbacksView, CallbackView],
  ['usage', 'Usage and fees', 'paymentAdmin.summarizeUsage', UsageView],
  ['slots', 'Slots', 'paymentAdmin.listSlots', SlotsView],
  ['offers', 'Offers', 'offers.listOffers', OffersView, OfferView],
  ['licenses', 'Licenses', 'licenses.listLicenses', LicensesView, LicenseView],
  ['customers', 'Customers', 'customers.listCustomers', CustomersView, CustomerView],
  ['apps', 'Apps and keys', 'licenses.listApps', AppsView],
  ['events', 'Events', 'events.listEvents', EventsView, EventView],
  ['endpoints', 'Endpoints', 'events.listEndpoints', EndpointsView, EndpointView],
  ['health', 'Health', 'metrics.readMetrics', HealthView],
  ['audit', 'Audit log', 'audit.listAuditEntries', AuditView],
];

/** The places that the caller may open, for the navigation. */
export function placesFor(who: SignedIn): readonly Place[] {
  return PLACES.filter(([path, , needs]) => {
    // A limited token may list only the callbacks of one session, which that session's page shows.
    if (path === 'callbacks' && who.isLimited) return false;
    if (path === 'orders') return canSeeOrders(who);
    return needs === undefined || who.may(needs);
  });
}

export function View() {
  const who = useSignedIn();
  const { path } = useRoute();
  const [name = '', id] = path;
  const place = PLACES.find(([each]) => each === name);
  if (place === undefined) return <NoSuchPage />;
  const [, title, , List, One] = place;
  if (id !== undefined) return One && path.length === 2 ? <One key={id} id={id} /> : <NoSuchPage />;
  if (placesFor(who).includes(place)) return <List />;
  return (
    <Page title={title}>
      <p>Your token does not allow this page. docs/access.md lists the roles; an admin creates tokens.</p>
    </Page>
  );
}

function NoSuchPage() {
  return (
    <Page title="No such page">
      <p>
        There is nothing at this address. Begin at the <a href={linkTo([])}>overview</a>.
      </p>
    </Page>
  );
}
