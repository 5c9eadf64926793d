// Issues licenses, and shows their keys.
import { periodText } from '../../../lib/presentation/calendar.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { ShortId } from '../components/ids.tsx';
import type { Scope } from '../components/scope-filters.ts';
import { limitText } from '../components/values.tsx';
import { CustomerPicker, NO_PICK } from '../customers/customer-picker.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { readTime, wholeNumber } from '../forms/field-values.ts';
import { ChoiceField, Effect, TextField, TimeField } from '../forms/fields.tsx';
import { FieldError } from '../forms/form-errors.ts';
import { type Form, required, type Values } from '../forms/form-state.ts';
import { NO_PERIOD, PeriodFields, readPeriod } from '../forms/period-fields.tsx';
import { useSignedIn } from '../sign-in-state.ts';
import { KeyTexts } from './license-key.tsx';
import { MainTerms, MoreTerms, useDefaultTerms } from './terms-fields.tsx';
import { NO_TERMS, readGivenTerms } from './terms-values.ts';

type IssueProps = {
  /** The apps to choose from. */
  readonly apps: Scope;
  /** The customer, if it is certain. */
  readonly customer?: { readonly customerId: string; readonly name: string };
};

export function IssueLicense({ apps, customer }: IssueProps) {
  const { hub } = useSignedIn();
  const submit = async (values: Values<IssueKey>, idempotencyKey: string) => {
    const { licenses } = await hub.licenses.issueLicenses({ ...issueRequest(values), idempotencyKey });
    return {
      announce: licenses.length === 1 ? 'The license is issued.' : `${licenses.length} licenses are issued.`,
      show: (
        <>
          <p>
            Give {licenses.length === 1 ? 'the key' : 'the keys'} to the customer. The hub can show{' '}
            {licenses.length === 1 ? 'it' : 'them'} again.
          </p>
          <KeyTexts keys={licenses.map(({ licenseKey }) => licenseKey)} />
          {licenses.length === 1 && (
            <p>
              License <ShortId id={licenses[0]?.license?.licenseId ?? ''} />
            </p>
          )}
        </>
      ),
    };
  };
  return (
    <DialogForm
      action="Issue license"
      title={customer ? `Issue a license for ${customer.name}` : 'Issue a license'}
      submitLabel="Issue"
      wide
      subject={undefined}
      initial={() => ({
        ...NEW_LICENSE,
        app: apps.chosen ?? apps.names[0] ?? '',
        ...(customer && { whose: 'existing', customerId: customer.customerId }),
      })}
      submit={({ values, idempotencyKey }) => submit(values, idempotencyKey)}
    >
      {(form) => <IssueFields form={form} apps={apps.names} isCertain={customer !== undefined} />}
    </DialogForm>
  );
}

type FieldsProps = {
  readonly form: Form<IssueKey>;
  readonly apps: readonly string[];
  readonly isCertain: boolean;
};

function IssueFields({ form, apps, isCertain }: FieldsProps) {
  const { app } = form.values;
  const defaults = useDefaultTerms(app);
  return (
    <>
      <ChoiceField form={form} name="app" label="App" choices={apps.map((slug) => [slug, slug] as const)} />
      {!isCertain && <CustomerFields form={form} />}
      <MainTerms form={form} app={app} defaults={defaults} />
      <ChoiceField form={form} name="expiry" label="Expires" choices={EXPIRIES} />
      {form.values.expiry === 'time' && <TimeField form={form} name="expiresAt" label="Expiry (UTC)" />}
      {form.values.expiry === 'first' && <PeriodFields form={form} />}
      <TextField form={form} name="count" label="Number of licenses" hint="At most 1000." />
      <MoreTerms form={form} defaults={defaults} />
      <IssueEffect values={form.values} defaultSeats={defaults?.seatLimit} />
    </>
  );
}

function CustomerFields({ form }: Pick<FieldsProps, 'form'>) {
  const { may } = useSignedIn();
  const choices = [
    ['none', 'none'],
    ...(may('customers.listCustomers') ? ([['existing', 'one that the hub knows']] as const) : []),
    ['inline', 'by name or email'],
  ] as const;
  return (
    <>
      <ChoiceField form={form} name="whose" label="Customer" choices={choices} />
      {form.values.whose === 'existing' && <CustomerPicker form={form} app={form.values.app} />}
      {form.values.whose === 'inline' && (
        <>
          <TextField form={form} name="customer" label="Customer’s name" maxLength={200} />
          <TextField
            form={form}
            name="customerEmail"
            label="Customer’s email"
            placeholder="ada@example.com"
            hint="The customer who has this email gets the license. If there is none, the hub creates one; without a name, the email is the name."
          />
        </>
      )}
    </>
  );
}

type EffectProps = { readonly values: Values<IssueKey>; readonly defaultSeats: number | undefined };

function IssueEffect({ values, defaultSeats }: EffectProps) {
  const count = Number(values.count) || 1;
  const typed = values.seatLimit.trim();
  const usual = defaultSeats === undefined ? '' : limitText(defaultSeats || 1);
  const seats = typed === '' ? usual : (/^([1-9]\d*|unlimited)$/i.exec(typed)?.[0] ?? '');
  return (
    <Effect>
      <p>
        {count === 1 ? 'Issues 1 license' : `Issues ${count} licenses`} of {values.app || 'an app'}
        {seats && ` with ${seats} ${seats === '1' ? 'seat' : 'seats'}${count === 1 ? '' : ' each'}`}, which{' '}
        {expiryText(values)}. The hub shows {count === 1 ? 'its key' : 'their keys'} next.
      </p>
    </Effect>
  );
}

function expiryText(values: Values<IssueKey>): string {
  if (values.expiry === 'time') return `expires ${values.expiresAt.replace('T', ' ') || '…'} UTC`;
  if (values.expiry === 'never') return 'never expires';
  try {
    return `is valid for ${periodText(readPeriod(values))} from its first activation`;
  } catch (error) {
    if (error instanceof FieldError) return 'is valid from its first activation';
    throw error;
  }
}

const EXPIRIES = [
  ['never', 'never'],
  ['time', 'at a time'],
  ['first', 'a period after the first activation'],
] as const;

const NEW_LICENSE = {
  ...NO_TERMS,
  ...NO_PERIOD,
  ...NO_PICK,
  app: '',
  whose: 'none',
  customer: '',
  customerEmail: '',
  count: '1',
  expiry: 'never',
  expiresAt: '',
};

type IssueKey = keyof typeof NEW_LICENSE;

/** @throws FieldError if a value is missing or cannot be read */
function issueRequest(values: Values<IssueKey>) {
  return {
    app: required(values, 'app', 'Choose an app.'),
    count: wholeNumber('count', values.count),
    ...readGivenTerms(values),
    ...(values.expiry === 'time' && { expiresAt: readTime('expiresAt', values.expiresAt) }),
    ...(values.expiry === 'first' && { validFor: readPeriod(values) }),
    ...customerOf(values),
  };
}

function customerOf(values: Values<IssueKey>) {
  if (values.whose === 'existing')
    return { customerId: required(values, 'customerId', 'Choose a customer.') };
  if (values.whose !== 'inline') return {};
  const customer = values.customer.trim();
  const customerEmail = values.customerEmail.trim();
  if (customer + customerEmail === '') {
    throw new FieldError('customer', 'Enter a name, an email, or both.');
  }
  return omitEmpty({ customer, customerEmail });
}
