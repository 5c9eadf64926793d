// Changes the terms of a license.
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import { periodText } from '../../../lib/presentation/calendar.ts';
import { limitText } from '../components/seats.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { Effect, TimeField } from '../forms/fields.tsx';
import type { Values } from '../forms/form-state.ts';
import {
  limitLines,
  pairLines,
  readLimits,
  readNames,
  readPairs,
  readTime,
  seatNumber,
  timeText,
  wholeNumber,
} from '../forms/values.ts';
import type { LicenseActionProps } from './action-props.ts';
import { MainTerms, OtherTerms, type TermsKey } from './terms-fields.tsx';

type EditKey = TermsKey | 'expiresAt';

export function EditLicense({ who, license, onDone }: LicenseActionProps) {
  const { licenses } = who.hub;
  const { licenseId, keyHint } = license;
  const submit = async (values: Values<EditKey>, before: License, idempotencyKey: string) => {
    const { seatsOverLimit } = await licenses.updateLicense({
      licenseId,
      ...requestOf(before, values),
      expectedTermsVersion: before.termsVersion,
      idempotencyKey,
    });
    await onDone();
    const over = seatsOverLimit > 0 ? ` ${seatsOverLimit} more machines are active than it allows.` : '';
    return { announce: `The terms of the license …${keyHint} are changed.${over}` };
  };
  return (
    <DialogForm
      action="Edit"
      title="Change the terms"
      submitLabel="Change"
      wide
      subject={license}
      initial={editValues}
      isReady={(values, before) => changedNames(before, values).length > 0}
      submit={({ values, subject, idempotencyKey }) => submit(values, subject, idempotencyKey)}
      reload={async () => (await licenses.getLicense({ licenseId })).license ?? license}
    >
      {(form, before) => (
        <>
          <MainTerms who={who} form={form} app={license.app} />
          <TimeField form={form} name="expiresAt" label="Expires (UTC)" hint={expiryHint(before)} />
          <OtherTerms form={form} />
          <EditEffect license={before} values={form.values} />
        </>
      )}
    </DialogForm>
  );
}

function EditEffect({ license, values }: { readonly license: License; readonly values: Values<EditKey> }) {
  const before = editValues(license);
  const names = changedNames(license, values);
  const used = license.seats?.used ?? 0;
  const limit = Number(values.seatLimit);
  return (
    <Effect>
      {names.length === 0 ? (
        <p>Nothing is changed yet.</p>
      ) : (
        <>
          <p>Machines get the change at their next activation, or after their next check:</p>
          <ul>
            {names.map((name) => (
              <li key={name}>
                {LABELS[name]}: {shown(name, before[name], license)} → {shown(name, values[name])}
              </li>
            ))}
          </ul>
        </>
      )}
      {names.includes('seatLimit') && limit > 0 && limit < used && (
        <p>
          {used} machines are active. None of them loses its seat, and no other gets one until fewer than{' '}
          {limit} are.
        </p>
      )}
    </Effect>
  );
}

const LABELS: Readonly<Record<EditKey, string>> = {
  seatLimit: 'Seats',
  limitProfile: 'Limit profile',
  limits: 'Own limits',
  features: 'Features',
  graceDays: 'Grace in days',
  leaseDays: 'Offline lease in days',
  metadata: 'Metadata',
  signedMetadata: 'Signed metadata',
  expiresAt: 'Expires',
};

/** @param before the license before the change, if `value` is one of its values */
function shown(name: EditKey, value: string, before?: License): string {
  const text = value.trim().split('\n').filter(Boolean).join(', ');
  if (name !== 'expiresAt') return text || 'none';
  if (text !== '') return text.replace('T', ' ');
  return before?.validFor ? 'after the first activation' : 'never';
}

function expiryHint({ validFor }: License): string {
  if (validFor === undefined) return 'Empty for never.';
  return `The license is valid for ${periodText(validFor)} from its first activation. A time replaces this.`;
}

function editValues(license: License): Values<EditKey> {
  return {
    seatLimit: limitText(license.seats?.limit ?? 1),
    limitProfile: license.limitProfile ?? '',
    limits: limitLines(license.ownLimits),
    features: license.features.join(', '),
    graceDays: String(license.graceDays),
    leaseDays: String(license.leaseDays ?? 0),
    metadata: pairLines(license.metadata),
    signedMetadata: license.signedMetadata.join(', '),
    expiresAt: timeText(license.expiresAt),
  };
}

function changedNames(license: License, values: Values<EditKey>): EditKey[] {
  const before = editValues(license);
  return (Object.keys(before) as EditKey[]).filter((name) => values[name].trim() !== before[name]);
}

/** Only the terms that changed, as the hub requires. @throws FieldError if a value cannot be read */
function requestOf(license: License, values: Values<EditKey>) {
  const names = changedNames(license, values);
  const { expiresAt, limitProfile } = values;
  const has = (name: EditKey): boolean => names.includes(name);
  return {
    updateMask: { paths: names.map((name) => name.replace(/[A-Z]/g, (it) => `_${it.toLowerCase()}`)) },
    ...(has('seatLimit') && { seatLimit: seatNumber('seatLimit', values.seatLimit) }),
    ...(has('limitProfile') && limitProfile !== '' && { limitProfile }),
    ...(has('limits') && { limits: readLimits('limits', values.limits) }),
    ...(has('features') && { features: readNames(values.features) }),
    ...(has('expiresAt') && expiresAt !== '' && { expiresAt: readTime('expiresAt', expiresAt) }),
    ...(has('graceDays') && { graceDays: wholeNumber('graceDays', values.graceDays) }),
    ...(has('leaseDays') && { leaseDays: wholeNumber('leaseDays', values.leaseDays) }),
    ...(has('metadata') && { metadata: readPairs('metadata', values.metadata) }),
    ...(has('signedMetadata') && { signedMetadata: readNames(values.signedMetadata) }),
  };
}
