// Creates and edits a customer.
import type { Customer } from '../../../gen/hub/customer/v1/customer_pb.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { DialogForm } from '../forms/dialog-form.tsx';
import { pairLines, readPairs, snakeCase } from '../forms/field-values.ts';
import { AreaField, TextField } from '../forms/fields.tsx';
import { type Form, required, type Values } from '../forms/form-state.ts';
import { linkTo } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';

type CustomerKey = 'name' | 'email' | 'externalRef' | 'metadata';

export function CreateCustomer() {
  const { hub } = useSignedIn();
  return (
    <DialogForm
      action="New customer"
      title="Create a customer"
      submitLabel="Create"
      subject={undefined}
      initial={() => ({ name: '', email: '', externalRef: '', metadata: '' })}
      submit={async ({ values, idempotencyKey }) => {
        const { customer } = await hub.customers.createCustomer({
          ...customerOf(values, ['name', 'email', 'externalRef', 'metadata']),
          idempotencyKey,
        });
        return {
          announce: `${customer?.name ?? 'The customer'} is created.`,
          goTo: customer && linkTo(['customers', customer.customerId]),
        };
      }}
      effect={() => <p>Creates a customer without licenses. The customer is not notified.</p>}
    >
      {(form) => <CustomerFields form={form} />}
    </DialogForm>
  );
}

export function EditCustomer({ customer }: { readonly customer: Customer }) {
  const { hub } = useSignedIn();
  const { customerId } = customer;
  return (
    <DialogForm
      action="Edit"
      title="Change this customer"
      submitLabel="Change"
      subject={customer}
      initial={customerValues}
      isEdit
      submit={async ({ values, changed }) => {
        const { customer: now } = await hub.customers.updateCustomer({
          customerId,
          updateMask: { paths: changed.map(snakeCase) },
          ...customerOf(values, changed),
        });
        return `${now?.name ?? 'The customer'} is changed.`;
      }}
      effect={({ changed }) => (
        <p>
          {changed.includes('name')
            ? 'Signed copies of the licenses state the new name after their next activation.'
            : 'Licenses, keys and machines stay as they are.'}
        </p>
      )}
    >
      {(form) => <CustomerFields form={form} />}
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

/** The named fields, without empty ones. @throws FieldError without a name */
function customerOf(values: Values<CustomerKey>, names: readonly CustomerKey[]) {
  const text = (name: CustomerKey): string => (names.includes(name) ? values[name].trim() : '');
  return {
    ...(names.includes('name') && { name: required(values, 'name', 'Enter a name.') }),
    ...omitEmpty({ email: text('email'), externalRef: text('externalRef') }),
    metadata: readPairs('metadata', text('metadata')),
  };
}
