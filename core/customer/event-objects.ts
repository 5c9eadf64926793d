// Reads customers as the objects of events.
import { CustomerSchema as CustomerMessage } from '../../gen/hub/customer/v1/customer_pb.ts';
import { type ObjectReaders, showObject } from '../event/read-objects.ts';
import type { Database } from '../storage/database.ts';
import { CustomerSchema } from './entities.ts';
import { customerToProto } from './messages.ts';

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
