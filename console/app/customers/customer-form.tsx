// Creates and edits a customer.
import type { Customer } from '../../../gen/hub/customer/v1/customer_pb.ts';
import { DialogForm } from '../forms/dialog-form.tsx';
import { AreaField, Effect, TextField } from '../forms/fields.tsx';
import { type Form, required, type Values } from '../forms/form-state.ts';
import { pairLines, readPairs } from '../forms/values.ts';
import { go, linkTo } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

type CustomerKey = 'name' | 'email' | 'externalRef' | 'metadata';

export function CreateCustomer({ who }: { readonly who: SignedIn }) {
  return (
    <DialogForm
      action="New customer"
      title="Create a customer"
      submitLabel="Create"
      subject={undefined}
      initial={() => ({ name: '', email: '', externalRef: '', metadata: '' })}
      submit={async ({ values, idempotencyKey }) => {
        const { customer } = await who.hub.customers.createCustomer({
          ...customerOf(values, ['name', 'email', 'externalRef', 'metadata']),
          idempotencyKey,
        });
        if (customer) go(linkTo(['customers', customer.customerId]));
        return { announce: `${customer?.name ?? 'The customer'} is created.` };
      }}
    >
      {(form) => (
        <>
          <CustomerFields form={form} />
          <Effect>
            <p>Creates a customer without licenses. The customer is not notified.</p>
          </Effect>
        </>
      )}
    </DialogForm>
  );
}

export type CustomerActionProps = {
  readonly who: SignedIn;
  readonly customer: Customer;
  /** Reloads the page. */
  readonly onDone: () => Promise<void>;
};

export function EditCustomer({ who, customer, onDone }: CustomerActionProps) {
  const { customerId } = customer;
  return (
    <DialogForm
      action="Edit"
      title="Change this customer"
      submitLabel="Change"
      subject={customer}
      initial={customerValues}
      isReady={(values, before) => changedNames(before, values).length > 0}
      submit={async ({ values, subject }) => {
        const names = changedNames(subject, values);
        const { customer: now } = await who.hub.customers.updateCustomer({
          customerId,
          updateMask: { paths: names.map((name) => (name === 'externalRef' ? 'external_ref' : name)) },
          ...customerOf(values, names),
        });
        await onDone();
        return { announce: `${now?.name ?? 'The customer'} is changed.` };
      }}
    >
      {(form, before) => (
        <>
          <CustomerFields form={form} />
          <Effect>
            <p>
              {changedNames(before, form.values).includes('name')
                ? 'Signed copies of the licenses state the new name after their next activation.'
                : 'Licenses, keys and machines stay as they are.'}
            </p>
          </Effect>
        </>
      )}
    </DialogForm>
  );
}

function CustomerFields({ form }: { readonly form: Form<CustomerKey> }) {
  return (
    <>
      <TextField form={form} name="name" label="Name" maxLength={200} isRequired />
      <TextField form={form} name="email" label="Email" placeholder="ada@example.com" maxLength={254} />
      <TextField
        form={form}
        name="externalRef"
        label="Reference"
        maxLength={200}
        hint="Identifier of the customer in another system. No two customers have the same."
      />
      <AreaField
        form={form}
        name="metadata"
        label="Metadata"
        placeholder="country=it"
        hint="One name=value on a line."
      />
    </>
  );
}

function customerValues({ name, email, externalRef, metadata }: Customer): Values<CustomerKey> {
  return { name, email: email ?? '', externalRef: externalRef ?? '', metadata: pairLines(metadata) };
}

function changedNames(customer: Customer, values: Values<CustomerKey>): CustomerKey[] {
  const before = customerValues(customer);
  return (Object.keys(before) as CustomerKey[]).filter((name) => values[name].trim() !== before[name]);
}

/** The named fields, without empty ones. @throws FieldError without a name */
function customerOf(values: Values<CustomerKey>, names: readonly CustomerKey[]) {
  const has = (name: CustomerKey): boolean => names.includes(name);
  const email = values.email.trim();
  const externalRef = values.externalRef.trim();
  return {
    ...(has('name') && { name: required(values, 'name', 'Enter a name.') }),
    ...(has('email') && email !== '' && { email }),
    ...(has('externalRef') && externalRef !== '' && { externalRef }),
    ...(has('metadata') && { metadata: readPairs('metadata', values.metadata) }),
  };
}
