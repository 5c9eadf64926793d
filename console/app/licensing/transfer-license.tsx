// Gives a license to another customer.
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import { CustomerPicker, NO_PICK } from '../customers/customer-picker.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { required } from '../forms/form-state.ts';
import { useSignedIn } from '../sign-in-state.ts';

export function TransferLicense({ license }: { readonly license: License }) {
  const { licenses } = useSignedIn().hub;
  const { licenseId, keyHint } = license;
  return (
    <DialogForm
      action="Transfer"
      title="Transfer this license"
      submitLabel="Transfer"
      subject={license}
      initial={() => NO_PICK}
      submit={async ({ values, subject }) => {
        const customerId = required(values, 'customerId', 'Choose the new customer.');
        const { license: now } = await licenses.transferLicense({
          licenseId,
          customerId,
          expectedTermsVersion: subject.termsVersion,
        });
        return `The license …${keyHint} belongs to ${now?.customer ?? 'the customer'} now.`;
      }}
      reload={async () => (await licenses.getLicense({ licenseId })).license ?? license}
      effect={({ values }, before) => (
        <p>
          The license moves from {before.customer ?? 'no customer'} to{' '}
          {values.pickedName || 'the chosen customer'}. Its key, its terms and its machines stay: re-key it if
          the old customer must not use the key any more. Signed copies name the new customer after their next
          activation.
        </p>
      )}
    >
      {(form) => <CustomerPicker form={form} app={license.app} />}
    </DialogForm>
  );
}
