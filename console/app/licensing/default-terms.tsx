// The terms that new licenses of an app have unless they set their own.
import type { App, DefaultTerms } from '../../../gen/hub/license/v1/license_pb.ts';
import { limitText } from '../components/values.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { seatNumber, snakeCase, wholeNumber } from '../forms/field-values.ts';
import { TextField } from '../forms/fields.tsx';
import { required, type Values } from '../forms/form-state.ts';
import { useSignedIn } from '../sign-in-state.ts';

/** `New licenses: 1 seat, an offline lease of 30 days, no grace.` */
export function defaultTermsText(terms: DefaultTerms | undefined): string {
  if (terms === undefined) return '';
  const seats = terms.seatLimit === 1 ? '1 seat' : `${limitText(terms.seatLimit)} seats`;
  const lease = terms.leaseDays === 0 ? 'no offline lease' : `an offline lease of ${terms.leaseDays} days`;
  const grace = terms.graceDays === 0 ? 'no grace' : `${terms.graceDays} days of grace`;
  return `New licenses: ${seats}, ${lease}, ${grace}.`;
}

type DefaultsKey = 'name' | 'seatLimit' | 'leaseDays' | 'graceDays';

export function EditDefaultTerms({ app }: { readonly app: App }) {
  const { hub } = useSignedIn();
  return (
    <DialogForm
      action="Edit"
      title={`Change ${app.slug}`}
      submitLabel="Change"
      subject={app}
      initial={appValues}
      isEdit
      submit={async ({ values, changed }) => {
        await hub.licenses.updateApp({ app: app.slug, ...requestOf(values, changed) });
        return `${app.slug} is changed.`;
      }}
      effect={({ values }) => (
        <>
          <p>Licenses that are issued from now on get these terms. Existing licenses keep theirs.</p>
          {values.leaseDays.trim() === '0' && (
            <p>Without a lease, a revocation never reaches a machine that stays offline.</p>
          )}
        </>
      )}
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="Name" maxLength={128} isRequired />
          <TextField form={form} name="seatLimit" label="Seats" hint="A number, or “unlimited”." />
          <TextField form={form} name="leaseDays" label="Offline lease in days" hint="0 for no bound." />
          <TextField form={form} name="graceDays" label="Grace in days" hint="0 for none." />
        </>
      )}
    </DialogForm>
  );
}

function appValues({ name, defaultTerms }: App): Values<DefaultsKey> {
  return {
    name,
    seatLimit: limitText(defaultTerms?.seatLimit || 1),
    leaseDays: String(defaultTerms?.leaseDays ?? 0),
    graceDays: String(defaultTerms?.graceDays ?? 0),
  };
}

/** Only what changed. @throws FieldError if a value cannot be read */
function requestOf(values: Values<DefaultsKey>, names: readonly DefaultsKey[]) {
  const has = (name: DefaultsKey): boolean => names.includes(name);
  return {
    updateMask: {
      paths: names.map((name) => (name === 'name' ? name : `default_terms.${snakeCase(name)}`)),
    },
    ...(has('name') && { name: required(values, 'name', 'Enter a name.') }),
    defaultTerms: {
      ...(has('seatLimit') && { seatLimit: seatNumber('seatLimit', values.seatLimit) }),
      ...(has('leaseDays') && { leaseDays: wholeNumber('leaseDays', values.leaseDays) }),
      ...(has('graceDays') && { graceDays: wholeNumber('graceDays', values.graceDays) }),
    },
  };
}
