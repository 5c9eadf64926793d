// CustomerService: creates, reads, lists, updates and erases customers.
import type { ServiceImpl } from '@connectrpc/connect';
import type { CustomerService } from '../../gen/hub/customer/v1/customer_service_pb.ts';
import { actorOf } from '../access/caller.ts';
import { createCustomers } from './customer-admin.ts';
import { createErase, type EraseOptions } from './erase-customer.ts';
import { listCustomers } from './list-customers.ts';
import type { PersonalData } from './lock-customer.ts';
import { customerToProto } from './messages.ts';
import { applyMask } from './update-mask.ts';

export function createCustomerService(options: EraseOptions): ServiceImpl<typeof CustomerService> {
  const customers = createCustomers(options);
  const erase = createErase(options);
  return {
    async createCustomer(request, context) {
      const customer = await customers.create(dataOf(request), request.idempotencyKey, actorOf(context));
      return { customer: customerToProto(customer) };
    },

    async getCustomer({ customerId }) {
      return { customer: customerToProto(await customers.get(customerId)) };
    },

    async listCustomers(request) {
      const { items, nextPageToken } = await listCustomers(options.db, request, request);
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
