// Erases the personal data of a customer.
import { Confirm } from '../components/confirm.tsx';
import type { CustomerActionProps } from './customer-form.tsx';

export function EraseCustomer({ who, customer, onDone }: CustomerActionProps) {
  const { customerId, name } = customer;
  const erase = async (): Promise<string> => {
    await who.hub.customers.eraseCustomer({ customerId });
    await onDone();
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
