// The table of requests with an idempotency key.
import { defineEntity, p } from '@mikro-orm/core';
import { CustomerSchema } from '../customer/entities.ts';
import { partial } from '../storage/schema/partial-index.ts';

const IdempotentRequestSchema = defineEntity({
  name: 'IdempotentRequest',
  tableName: 'idempotent_request',
  properties: {
    /** The RPC and the resource that the key belongs to, such as `IssueLicenses:<app id>`. */
    scope: p.text().primary(),
    key: p.text().primary(),
    /** SHA-256 of the request; null after the erasure of the personal data in it. */
    requestHash: p.blob().nullable(),
    resultIds: p.array<string>().columnType('uuid[]'),
    /** The generation of the license key that the request created. */
    keyGeneration: p.integer().nullable(),
    /** The customer whose personal data is part of the request. */
    customer: () => p.manyToOne(CustomerSchema).nullable().deleteRule('restrict'),
    createdAt: p.datetime(3),
  },
  indexes: [partial('idempotent_request_customer_idx', ['customer'], 'customer_id is not null')],
});

export const idempotencyEntities = [IdempotentRequestSchema];
