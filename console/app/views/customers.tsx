// Customers, newest first, with a search as one types.
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { Filters } from '../components/filters.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { scopeFilter, useApps } from '../components/scope-filters.ts';
import { SearchResult } from '../components/search-result.tsx';
import { Table } from '../components/table.tsx';
import { Moment } from '../components/timestamp.tsx';
import { CreateCustomer } from '../customers/customer-form.tsx';
import { useKept } from '../forms/search.ts';
import { useLive } from '../live.ts';
import { canCall } from '../permissions.ts';
import { linkTo, useRoute } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

const EVERY_MS = 15_000;

export function CustomersView({ who }: { readonly who: SignedIn }) {
  const { query } = useRoute();
  const apps = useApps(who);
  const { search, after = '' } = query;
  const app = query['app'] ?? apps.only;
  const live = useKept(
    useLive(JSON.stringify([search, app, after]), EVERY_MS, (signal) =>
      who.hub.customers.listCustomers(
        { ...(search && { search }), ...(app && { app }), pageToken: after },
        { signal },
      ),
    ),
  );
  const mayCreate = canCall(who.caller, CustomerService.method.createCustomer);
  return (
    <Page title="Customers" actions={mayCreate && <CreateCustomer who={who} />}>
      <Filters
        filters={[
          { name: 'search', label: 'Search', placeholder: 'name, email or reference', isLive: true },
          scopeFilter('app', 'With a license of', apps),
        ]}
      />
      <Loaded live={live}>
        {({ customers, nextPageToken }) => (
          <SearchResult
            what="customer"
            count={customers.length}
            hasMore={nextPageToken !== ''}
            isOutdated={live.isOutdated}
          >
            <Table
              caption="Customers"
              rows={customers}
              keyOf={({ customerId }) => customerId}
              empty="No customer matches. Search for a part of the name, email or reference."
              columns={[
                {
                  title: 'Customer',
                  kind: 'long',
                  cell: ({ customerId, name, erasedAt }) => (
                    <a class="id" href={linkTo(['customers', customerId])}>
                      {erasedAt ? 'erased customer' : name}
                    </a>
                  ),
                },
                { title: 'Email', kind: 'named', cell: ({ email }) => email },
                { title: 'Reference', kind: 'named', cell: ({ externalRef }) => externalRef },
                { title: 'Created', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
              ]}
            />
            <Pager next={nextPageToken} />
          </SearchResult>
        )}
      </Loaded>
    </Page>
  );
}
