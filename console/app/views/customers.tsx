// Customers, newest first, with a search as one types.

import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { Moment } from '../components/inline.tsx';
import { ListPage } from '../components/page.tsx';
import { scopeFilter, useApps } from '../components/scope-filters.ts';
import { Table } from '../components/table.tsx';
import { CreateCustomer } from '../customers/customer-form.tsx';
import { useKept } from '../forms/search.ts';
import { useList } from '../list.ts';
import { linkTo } from '../route.ts';
import { useSignedIn } from '../signed-in.ts';

const EVERY_MS = 15_000;

export function CustomersView() {
  const { hub, may } = useSignedIn();
  const apps = useApps();
  const live = useKept(
    useList({
      everyMs: EVERY_MS,
      scope: [apps.chosen],
      load: ({ query: { search }, pageToken }, options) =>
        hub.customers.listCustomers({ ...omitEmpty({ search, app: apps.chosen }), pageToken }, options),
    }),
  );
  return (
    <ListPage
      title="Customers"
      live={live}
      filters={[
        { name: 'search', label: 'Search', placeholder: 'name, email or reference', isLive: true },
        scopeFilter('app', 'With a license of', apps),
      ]}
      actions={may(CustomerService.method.createCustomer) && <CreateCustomer />}
      search={{ what: 'customer', rows: ({ customers }) => customers }}
    >
      {({ customers }) => (
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
      )}
    </ListPage>
  );
}
