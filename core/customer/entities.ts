// The table of the customer module.
import { defineEntity, type InferEntity, p } from '@mikro-orm/core';

export const CustomerSchema = defineEntity({
  name: 'Customer',
  tableName: 'customer',
  properties: {
    id: p.uuid().primary(),
    /** Empty after the erasure. */
    name: p.text(),
    email: p.text().nullable(),
    externalRef: p.text().unique('customer_external_ref_key').nullable(),
    metadata: p.json<Readonly<Record<string, string>>>().defaultRaw(`'{}'`),
    /**
     * The key that encrypts the personal data of the customer in the audit log, sealed for `customer:<id>`.
     * Null before its first use, and after the erasure.
     */
    sealedDataKey: p.blob().nullable(),
    createdAt: p.datetime(3),
    erasedAt: p.datetime(3).nullable(),
    searchGrams: p
      .array<string>()
      .generated(
        `search_grams(name || chr(10) || coalesce(email, '') || chr(10) ||
        coalesce(external_ref, '')) stored`,
      )
      .lazy(),
  },
  indexes: [
    { name: 'customer_name_idx', properties: ['name', 'id'] },
    {
      name: 'customer_email_idx',
      expression: 'create index customer_email_idx on customer (lower(email), id) where email is not null',
    },
    {
      name: 'customer_search_idx',
      expression: 'create index customer_search_idx on customer using gin (search_grams)',
    },
  ],
});
export type Customer = InferEntity<typeof CustomerSchema>;

export const customerEntities = [CustomerSchema];
