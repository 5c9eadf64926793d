// Converts between the customer module's entity and its protobuf message.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { CustomerSchema } from '../../gen/hub/customer/v1/customer_pb.ts';
import { formatId } from '../ids.ts';
import type { Customer } from './entities.ts';

export function customerToProto(customer: Customer): MessageInitShape<typeof CustomerSchema> {
  const { id, name, email, externalRef, metadata, createdAt, erasedAt } = customer;
  return {
    customerId: formatId('cus', id),
    name,
    ...(email != null && { email }),
    ...(externalRef != null && { externalRef }),
    metadata: { ...metadata },
    createdAt: timestampFromDate(createdAt),
    ...(erasedAt && { erasedAt: timestampFromDate(erasedAt) }),
  };
}
