// Erases the personal data of a customer.
import type { Customer } from '../../../gen/hub/customer/v1/customer_pb.ts';
import { Confirm } from '../components/confirm.tsx';
import { useSignedIn } from '../signed-in.ts';

export function EraseCustomer({ customer: { customerId, name } }: { readonly customer: Customer }) {
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
