// Shows customers: as messages, and as the objects of events.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { CustomerSchema as CustomerMessage } from '../../gen/hub/customer/v1/customer_pb.ts';
import { type ObjectReaders, showObject } from '../event/read-objects.ts';
import { formatId } from '../ids.ts';
import type { Database } from '../storage/database.ts';
import { timestampsIn } from '../timestamp.ts';
import { type Customer, CustomerSchema } from './entities.ts';

export function customerToProto(customer: Customer): MessageInitShape<typeof CustomerMessage> {
  const { id, name, email, externalRef, metadata } = customer;
  return {
    customerId: formatId('cus', id),
    name,
    ...(email != null && { email }),
    ...(externalRef != null && { externalRef }),
    metadata: { ...metadata },
    ...timestampsIn(customer, 'createdAt', 'erasedAt'),
  };
}

export function createCustomerReader(db: Database): Pick<ObjectReaders, 'customer'> {
  return {
    async customer(ids) {
      const customers = await db.em().find(CustomerSchema, { id: { $in: [...ids] } });
      return new Map(
        customers.map((customer) => [
          customer.id,
          { data: showObject(CustomerMessage, customerToProto(customer)), customerId: customer.id },
        ]),
      );
    },
  };
}
