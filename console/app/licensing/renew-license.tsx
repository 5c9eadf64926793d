// Extends a license by a period or to a time.
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import { addPeriod, type CalendarPeriod } from '../../../lib/presentation/calendar.ts';
import { Moment, MomentAfter } from '../components/times.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { readTime, timeText } from '../forms/field-values.ts';
import { ChoiceField, TimeField } from '../forms/fields.tsx';
import { FieldError } from '../forms/form-errors.ts';
import type { Values } from '../forms/form-state.ts';
import { NO_PERIOD, PeriodFields, readPeriod } from '../forms/period-fields.tsx';
import { useSignedIn } from '../sign-in-state.ts';

type RenewKey = keyof typeof NO_PERIOD | 'by' | 'to';

const PERIODS: Readonly<Record<string, CalendarPeriod>> = {
  year: { years: 1, months: 0, days: 0 },
  month: { years: 0, months: 1, days: 0 },
};

/** Only a license that has an expiry can be renewed. */
export function RenewLicense({ license }: { readonly license: License }) {
  const { licenses } = useSignedIn().hub;
  const { licenseId, keyHint } = license;
  return (
    <DialogForm
      action="Renew"
      title="Renew this license"
      submitLabel="Renew"
      subject={license}
      initial={({ expiresAt }) => ({ ...NO_PERIOD, by: 'year', to: timeText(expiresAt) })}
      submit={async ({ values, subject, idempotencyKey }) => {
        await licenses.renewLicense({
          licenseId,
          extension: extensionOf(values),
          expectedTermsVersion: subject.termsVersion,
          idempotencyKey,
        });
        return `The license …${keyHint} is renewed.`;
      }}
      reload={async () => (await licenses.getLicense({ licenseId })).license ?? license}
      effect={({ values }, before) => <RenewEffect license={before} values={values} />}
    >
      {(form) => (
        <>
          <ChoiceField form={form} name="by" label="Renew" choices={WAYS} />
          {form.values.by === 'period' && <PeriodFields form={form} />}
          {form.values.by === 'time' && <TimeField form={form} name="to" label="New expiry (UTC)" />}
        </>
      )}
    </DialogForm>
  );
}

const WAYS = [
  ['year', 'by 1 year'],
  ['month', 'by 1 month'],
  ['period', 'by another period'],
  ['time', 'to a time'],
] as const;

function RenewEffect({ license, values }: { readonly license: License; readonly values: Values<RenewKey> }) {
  const until = newExpiry(license, values);
  return (
    <>
      <p>
        It expires <Moment at={license.expiresAt} />
        <MomentAfter text=", and after this " at={until} />.
      </p>
      <p>
        A period is counted from now if the license has expired. Machines learn the new expiry at their next
        activation, or after their next check.
      </p>
    </>
  );
}

/** @throws FieldError if a value cannot be read */
function extensionOf(values: Values<RenewKey>) {
  if (values.by === 'time') return { case: 'to' as const, value: readTime('to', values.to) };
  return { case: 'by' as const, value: PERIODS[values.by] ?? readPeriod(values) };
}

/** Undefined while the form is not complete. */
function newExpiry(license: License, values: Values<RenewKey>): Date | undefined {
  try {
    const extension = extensionOf(values);
    if (extension.case === 'to') return timestampDate(extension.value);
    const expiry = timestampDate(license.expiresAt ?? timestampFromDate(new Date()));
    return addPeriod(new Date(Math.max(expiry.getTime(), Date.now())), extension.value);
  } catch (error) {
    if (error instanceof FieldError) return undefined;
    throw error;
  }
}
