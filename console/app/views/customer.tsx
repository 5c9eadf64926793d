// One customer with the customer's licenses.

import type { Customer } from '../../../gen/hub/customer/v1/customer_pb.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { Confirm } from '../components/confirm.tsx';
import { Facts, pairFacts } from '../components/facts.tsx';
import { Filters } from '../components/filters.tsx';
import { WholeId } from '../components/ids.tsx';
import { LivePage, Section } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { type Scope, scopeFilter, useApps } from '../components/scope-filters.ts';
import { Badge } from '../components/state-badges.tsx';
import { EditCustomer } from '../customers/customer-form.tsx';
import { EventsLink } from '../events/events-link.tsx';
import { IssueLicense } from '../licensing/issue-license.tsx';
import { LicenseTable } from '../licensing/license-table.tsx';
import { useLive } from '../poll-hub.ts';
import { useRoute } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';

export function CustomerView({ id }: { readonly id: string }) {
  const { hub } = useSignedIn();
  const apps = useApps();
  const { after: pageToken = '' } = useRoute().query;
  const live = useLive(JSON.stringify([id, apps.chosen, pageToken]), 15_000, async (signal) => {
    const [{ customer }, page] = await Promise.all([
      hub.customers.getCustomer({ customerId: id }, { signal }),
      hub.licenses.listLicenses(
        { customerId: id, ...omitEmpty({ app: apps.chosen }), pageToken },
        { signal },
      ),
    ]);
    if (customer === undefined) throw new Error('the hub returned no customer');
    return { customer, page };
  });
  return (
    <LivePage
      title="Customer"
      live={live}
      beside={({ customer }) => (
        <>
          {customer.erasedAt && <Badge>erased</Badge>}
          <EventsLink object={id} />
        </>
      )}
      actions={({ customer }) => !customer.erasedAt && <CustomerActions customer={customer} apps={apps} />}
    >
      {({ customer, page }) => (
        <>
          <CustomerFacts customer={customer} />
          <Section title="Licenses">
            <Filters filters={[scopeFilter('app', 'App', apps)]} />
            <LicenseTable licenses={page.licenses} empty="There is no such license." ofOneCustomer />
            <Pager next={page.nextPageToken} />
          </Section>
        </>
      )}
    </LivePage>
  );
}

type ActionsProps = { readonly customer: Customer; readonly apps: Scope };

function CustomerActions({ customer, apps }: ActionsProps) {
  const { may } = useSignedIn();
  return (
    <>
      {may('licenses.issueLicenses') && <IssueLicense apps={apps} customer={customer} />}
      {may('customers.updateCustomer') && <EditCustomer customer={customer} />}
      {may('customers.eraseCustomer') && <EraseCustomer customer={customer} />}
    </>
  );
}

function EraseCustomer({ customer: { customerId, name } }: { readonly customer: Customer }) {
  const { hub } = useSignedIn();
  const erase = async (): Promise<string> => {
    await hub.customers.eraseCustomer({ customerId });
    return 'The customer is erased.';
  };
  return (
    <Confirm
      action="Erase"
      question="Erase this customer’s personal data?"
      word="ERASE"
      dangerous
      run={erase}
    >
      <p>
        <strong>This cannot be undone.</strong> The hub removes the name, email, reference and metadata of{' '}
        <b>{name}</b>: here, in charge sessions, in payment callbacks and in the audit log.
      </p>
      <p>
        Licenses, keys, machines and payments stay. Backups that were made before still contain the data, and
        so do signed copies of the licenses on the customer’s machines.
      </p>
    </Confirm>
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
        ['Created', customer.createdAt],
        ['Erased', erasedAt],
        ...pairFacts(customer.metadata, 'Metadata: '),
      ]}
    />
  );
}
