// JSON schema and columns of customers.
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { pairsText } from '../cells.ts';
import * as json from '../schema.ts';

export const CUSTOMER = json.view('Customer', 'hub.customer.v1.Customer', {
  customerId: json.id('cus'),
  name: json.text(),
  email: json.optional(json.text('its email address')),
  externalRef: json.optional(json.text('its identifier in another system')),
  metadata: json.map(json.text()),
  createdAt: json.time(),
  erasedAt: json.optional(json.time('when its personal data was erased')),
});
export type CustomerView = json.ValueOf<typeof CUSTOMER>;

export const CUSTOMERS = json.object('Customers', {
  customers: json.list(CUSTOMER),
  count: json.integer('number of listed customers'),
});

export const customerView = json.viewer(CUSTOMER);

export const CUSTOMER_FIELDS: readonly Column<CustomerView>[] = [
  { title: 'Customer', cell: (item) => item.customerId },
  { title: 'Name', cell: ({ name, erasedAt }) => (erasedAt === undefined ? name : '(erased)') },
  ...columnsOf(CUSTOMER, 'email', { externalRef: 'Reference' }),
  { title: 'Metadata', cell: ({ metadata }) => metadataText(metadata) },
  ...columnsOf(CUSTOMER, 'createdAt', 'erasedAt'),
];

export const CUSTOMER_COLUMNS = pick(CUSTOMER_FIELDS, 'Customer', 'Name', 'Email', 'Reference', 'Created');

/** By name. */
function metadataText(metadata: Readonly<Record<string, string>>): string {
  const entries = Object.entries(metadata).sort(([one], [other]) => (one < other ? -1 : 1));
  return pairsText(Object.fromEntries(entries));
}
