// Customers, newest first, with a search as one types.

import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { ListPage } from '../components/list-page.tsx';
import { scopeFilter, useApps } from '../components/scope-filters.ts';
import { Table } from '../components/table.tsx';
import { CreateCustomer } from '../customers/customer-form.tsx';
import { linkTo } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';

export function CustomersView() {
  const { hub, may } = useSignedIn();
  const apps = useApps();
  return (
    <ListPage
      title="Customers"
      everyMs={15_000}
      filters={[
        { name: 'search', label: 'Search', placeholder: 'name, email or reference', isLive: true },
        scopeFilter('app', 'With a license of', apps),
      ]}
      load={({ query: { search, app }, pageToken }, options) =>
        hub.customers.listCustomers({ ...omitEmpty({ search, app }), pageToken }, options)
      }
      actions={() => may('customers.createCustomer') && <CreateCustomer />}
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
            { title: 'Created', wide: true, cell: ({ createdAt }) => createdAt },
          ]}
        />
      )}
    </ListPage>
  );
}
