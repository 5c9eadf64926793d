// One customer with the customer's licenses.
import type { Customer } from '../../../gen/hub/customer/v1/customer_pb.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { Badge } from '../components/badge.tsx';
import { Facts, pairFacts } from '../components/facts.tsx';
import { Filters } from '../components/filters.tsx';
import { WholeId } from '../components/id.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { type Scope, scopeFilter, useApps } from '../components/scope-filters.ts';
import { Moment } from '../components/timestamp.tsx';
import { EditCustomer } from '../customers/customer-form.tsx';
import { EraseCustomer } from '../customers/erase-customer.tsx';
import { EventsLink } from '../events/events-link.tsx';
import { IssueLicense, mayIssue } from '../licensing/issue-license.tsx';
import { LicenseTable } from '../licensing/license-table.tsx';
import { type Live, useLive } from '../live.ts';
import { canCall } from '../permissions.ts';
import { useRoute } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

const EVERY_MS = 15_000;

export function CustomerView({ who, id }: { readonly who: SignedIn; readonly id: string }) {
  const { query } = useRoute();
  const apps = useApps(who);
  const { after = '' } = query;
  const app = query['app'] ?? apps.only;
  const live = useLive(JSON.stringify([id, app, after]), EVERY_MS, async (signal) => {
    const [{ customer }, page] = await Promise.all([
      who.hub.customers.getCustomer({ customerId: id }, { signal }),
      who.hub.licenses.listLicenses({ customerId: id, ...(app && { app }), pageToken: after }, { signal }),
    ]);
    return { customer, page };
  });
  const customer = live.data?.customer;
  return (
    <Page
      title="Customer"
      beside={
        customer && (
          <>
            {customer.erasedAt && <Badge>erased</Badge>}
            <EventsLink who={who} object={id} />
          </>
        )
      }
      actions={
        customer && <CustomerActions who={who} customer={customer} apps={apps} app={app} live={live} />
      }
    >
      <Loaded live={live}>
        {(data) => (
          <>
            {data.customer && <CustomerFacts customer={data.customer} />}
            <section aria-labelledby="licenses">
              <h2 id="licenses">Licenses</h2>
              <Filters filters={[scopeFilter('app', 'App', apps)]} />
              <LicenseTable licenses={data.page.licenses} empty="There is no such license." ofOneCustomer />
              <Pager next={data.page.nextPageToken} />
            </section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

type ActionsProps = {
  readonly who: SignedIn;
  readonly customer: Customer;
  readonly apps: Scope;
  readonly app: string | undefined;
  readonly live: Live<unknown>;
};

function CustomerActions({ who, customer, apps, app, live: { refresh } }: ActionsProps) {
  if (customer.erasedAt) return null;
  const { method } = CustomerService;
  return (
    <>
      {mayIssue(who) && (
        <IssueLicense who={who} apps={apps.names} app={app} customer={customer} onDone={refresh} />
      )}
      {canCall(who.caller, method.updateCustomer) && (
        <EditCustomer who={who} customer={customer} onDone={refresh} />
      )}
      {canCall(who.caller, method.eraseCustomer) && (
        <EraseCustomer who={who} customer={customer} onDone={refresh} />
      )}
    </>
  );
}

function CustomerFacts({ customer }: { readonly customer: Customer }) {
  const { erasedAt } = customer;
  return (
    <Facts
      facts={[
        ['Customer', <WholeId key="id" id={customer.customerId} />],
        ['Name', customer.name],
        ['Email', customer.email],
        ['Reference', customer.externalRef],
        ['Created', <Moment key="created" at={customer.createdAt} />],
        ['Erased', erasedAt && <Moment key="erased" at={erasedAt} />],
        ...pairFacts(customer.metadata).map(([name, value]) => [`Metadata: ${name}`, value] as const),
      ]}
    />
  );
}
