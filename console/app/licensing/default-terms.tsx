// The terms that new licenses of an app have unless they set their own.
import type { App, DefaultTerms } from '../../../gen/hub/license/v1/license_pb.ts';
import { limitText } from '../components/seats.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { Effect, TextField } from '../forms/fields.tsx';
import { required, type Values } from '../forms/form-state.ts';
import { seatNumber, wholeNumber } from '../forms/values.ts';
import type { SignedIn } from '../signed-in.ts';

/** `New licenses: 1 seat, an offline lease of 30 days, no grace.` */
export function defaultTermsText(terms: DefaultTerms | undefined): string {
  if (terms === undefined) return '';
  const seats = terms.seatLimit === 1 ? '1 seat' : `${limitText(terms.seatLimit)} seats`;
  const lease = terms.leaseDays === 0 ? 'no offline lease' : `an offline lease of ${terms.leaseDays} days`;
  const grace = terms.graceDays === 0 ? 'no grace' : `${terms.graceDays} days of grace`;
  return `New licenses: ${seats}, ${lease}, ${grace}.`;
}

type DefaultsKey = 'name' | 'seatLimit' | 'leaseDays' | 'graceDays';

type DefaultsProps = {
  readonly who: SignedIn;
  readonly app: App;
  /** Reloads the page. */
  readonly onDone: () => Promise<void>;
};

export function EditDefaultTerms({ who, app, onDone }: DefaultsProps) {
  const { licenses } = who.hub;
  return (
    <DialogForm
      action="Edit"
      title={`Change ${app.slug}`}
      submitLabel="Change"
      subject={app}
      initial={appValues}
      isReady={(values, before) => changedNames(before, values).length > 0}
      submit={async ({ values, subject }) => {
        await licenses.updateApp({ app: app.slug, ...requestOf(subject, values) });
        await onDone();
        return { announce: `${app.slug} is changed.` };
      }}
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="Name" maxLength={128} isRequired />
          <TextField form={form} name="seatLimit" label="Seats" hint="A number, or “unlimited”." />
          <TextField form={form} name="leaseDays" label="Offline lease in days" hint="0 for no bound." />
          <TextField form={form} name="graceDays" label="Grace in days" hint="0 for none." />
          <Effect>
            <p>Licenses that are issued from now on get these terms. Existing licenses keep theirs.</p>
            {form.values.leaseDays.trim() === '0' && (
              <p>Without a lease, a revocation never reaches a machine that stays offline.</p>
            )}
          </Effect>
        </>
      )}
    </DialogForm>
  );
}

const PATHS: Readonly<Record<DefaultsKey, string>> = {
  name: 'name',
  seatLimit: 'default_terms.seat_limit',
  leaseDays: 'default_terms.lease_days',
  graceDays: 'default_terms.grace_days',
};

function appValues({ name, defaultTerms }: App): Values<DefaultsKey> {
  return {
    name,
    seatLimit: limitText(defaultTerms?.seatLimit || 1),
    leaseDays: String(defaultTerms?.leaseDays ?? 0),
    graceDays: String(defaultTerms?.graceDays ?? 0),
  };
}

function changedNames(app: App, values: Values<DefaultsKey>): DefaultsKey[] {
  const before = appValues(app);
  return (Object.keys(before) as DefaultsKey[]).filter((name) => values[name].trim() !== before[name]);
}

/** Only what changed. @throws FieldError if a value cannot be read */
function requestOf(app: App, values: Values<DefaultsKey>) {
  const names = changedNames(app, values);
  const has = (name: DefaultsKey): boolean => names.includes(name);
  return {
    updateMask: { paths: names.map((name) => PATHS[name]) },
    ...(has('name') && { name: required(values, 'name', 'Enter a name.') }),
    defaultTerms: {
      ...(has('seatLimit') && { seatLimit: seatNumber('seatLimit', values.seatLimit) }),
      ...(has('leaseDays') && { leaseDays: wholeNumber('leaseDays', values.leaseDays) }),
      ...(has('graceDays') && { graceDays: wholeNumber('graceDays', values.graceDays) }),
    },
  };
}
