// JSON schema and columns of customers.
import type { Customer } from '../../../gen/hub/customer/v1/customer_pb.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  id,
  integer,
  list,
  map,
  object,
  optional,
  text,
  time,
  type ValueOf,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';

export const CUSTOMER = object(
  'Customer',
  {
    customerId: id('cus'),
    name: text(),
    email: optional(text('its email address')),
    externalRef: optional(text('its identifier in another system')),
    metadata: map(text()),
    createdAt: time(),
    erasedAt: optional(time('when its personal data was erased')),
  },
  { message: 'hub.customer.v1.Customer' },
);
export type CustomerView = ValueOf<typeof CUSTOMER>;

export const CUSTOMERS = object('Customers', {
  customers: list(CUSTOMER),
  count: integer('number of listed customers'),
});

export function customerView(customer: Customer): CustomerView {
  return {
    customerId: customer.customerId,
    name: customer.name,
    ...(customer.email !== undefined && { email: customer.email }),
    ...(customer.externalRef !== undefined && { externalRef: customer.externalRef }),
    metadata: customer.metadata,
    createdAt: rfc3339(requireField(customer.createdAt, 'creation time')),
    ...(customer.erasedAt && { erasedAt: rfc3339(customer.erasedAt) }),
  };
}

export const CUSTOMER_COLUMNS: readonly Column<CustomerView>[] = [
  { title: 'CUSTOMER', cell: (item) => item.customerId },
  { title: 'NAME', cell: nameText },
  { title: 'EMAIL', cell: (item) => item.email },
  { title: 'REFERENCE', cell: (item) => item.externalRef },
  { title: 'CREATED', cell: (item) => shortTime(item.createdAt) },
];

export const CUSTOMER_FIELDS: readonly Column<CustomerView>[] = [
  { title: 'Customer', cell: (item) => item.customerId },
  { title: 'Name', cell: nameText },
  { title: 'Email', cell: (item) => item.email },
  { title: 'Reference', cell: (item) => item.externalRef },
  { title: 'Metadata', cell: ({ metadata }) => metadataText(metadata) },
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
  { title: 'Erased', cell: (item) => shortTime(item.erasedAt) },
];

function nameText({ name, erasedAt }: CustomerView): string {
  return erasedAt === undefined ? name : '(erased)';
}

function metadataText(metadata: Readonly<Record<string, string>>): string | undefined {
  const entries = Object.entries(metadata).sort(([one], [other]) => (one < other ? -1 : 1));
  return entries.map(([name, value]) => `${name}=${value}`).join(' ') || undefined;
}
