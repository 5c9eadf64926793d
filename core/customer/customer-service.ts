// CustomerService: creates, reads, lists, updates and erases customers.
import type { ServiceImpl } from '@connectrpc/connect';
import type { CustomerService } from '../../gen/hub/customer/v1/customer_service_pb.ts';
import { actorOf } from '../access/caller.ts';
import type { createCustomers } from './customer-admin.ts';
import type { createErase } from './erase-customer.ts';
import type { PersonalData } from './lock-customer.ts';
import { customerToProto } from './messages.ts';
import { applyMask } from './update-mask.ts';

export type CustomerServiceOptions = {
  readonly customers: ReturnType<typeof createCustomers>;
  readonly erase: ReturnType<typeof createErase>;
};

export function createCustomerService({
  customers,
  erase,
}: CustomerServiceOptions): ServiceImpl<typeof CustomerService> {
  return {
    async createCustomer(request, context) {
      const customer = await customers.create(dataOf(request), request.idempotencyKey, actorOf(context));
      return { customer: customerToProto(customer) };
    },

    async getCustomer({ customerId }) {
      return { customer: customerToProto(await customers.get(customerId)) };
    },

    async listCustomers({ app, search, email, externalRef, pageSize, pageToken }) {
      const filter = { app, search, email, externalRef };
      const { items, nextPageToken } = await customers.list(filter, { pageSize, pageToken });
      return { customers: items.map(customerToProto), nextPageToken };
    },

    async updateCustomer(request, context) {
      const update = dataOf(request);
      const paths = request.updateMask?.paths ?? [];
      const change = (current: PersonalData) => applyMask(current, update, paths);
      const customer = await customers.update(request.customerId, change, actorOf(context));
      return { customer: customerToProto(customer) };
    },

    async eraseCustomer({ customerId }, context) {
      await erase(customerId, actorOf(context));
      return { customer: customerToProto(await customers.get(customerId)) };
    },
  };
}

type CustomerFields = {
  readonly name: string;
  readonly email?: string | undefined;
  readonly externalRef?: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
};

/** Converts the fields of a request. An empty email means no email. */
function dataOf({ name, email, externalRef, metadata }: CustomerFields): PersonalData {
  return { name, email: email || null, externalRef: externalRef ?? null, metadata: { ...metadata } };
}
