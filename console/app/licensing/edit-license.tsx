// Changes the terms of a license.
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import { periodText } from '../../../lib/presentation/calendar.ts';
import { limitText } from '../components/values.tsx';
import { Changes } from '../forms/changes.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { limitLines, pairLines, readTime, snakeCase, timeText } from '../forms/field-values.ts';
import { TimeField } from '../forms/fields.tsx';
import type { Values, WholeForm } from '../forms/form-state.ts';
import { useSignedIn } from '../sign-in-state.ts';
import { MainTerms, OtherTerms } from './terms-fields.tsx';
import { readTerms, TERM_LABELS, type TermsKey } from './terms-values.ts';

type EditKey = TermsKey | 'expiresAt';

export function EditLicense({ license }: { readonly license: License }) {
  const { licenses } = useSignedIn().hub;
  const { licenseId, keyHint } = license;
  return (
    <DialogForm
      action="Edit"
      title="Change the terms"
      submitLabel="Change"
      wide
      subject={license}
      initial={editValues}
      isEdit
      submit={async ({ values, changed, subject, idempotencyKey }) => {
        const { seatsOverLimit } = await licenses.updateLicense({
          licenseId,
          ...requestOf(values, changed),
          expectedTermsVersion: subject.termsVersion,
          idempotencyKey,
        });
        const over = seatsOverLimit > 0 ? ` ${seatsOverLimit} more machines are active than it allows.` : '';
        return `The terms of the license …${keyHint} are changed.${over}`;
      }}
      reload={async () => (await licenses.getLicense({ licenseId })).license ?? license}
      effect={(form, before) => <EditEffect license={before} form={form} />}
    >
      {(form, before) => (
        <>
          <MainTerms form={form} app={license.app} />
          <TimeField form={form} name="expiresAt" label="Expires (UTC)" hint={expiryHint(before)} />
          <OtherTerms form={form} />
        </>
      )}
    </DialogForm>
  );
}

type EffectProps = { readonly license: License; readonly form: WholeForm<EditKey> };

function EditEffect({ license: { seats, validFor }, form }: EffectProps) {
  const used = seats?.used ?? 0;
  const limit = Number(form.values.seatLimit);
  const textOf = (name: EditKey, values: Values<EditKey>): string => {
    const text = values[name].trim().split('\n').filter(Boolean).join(', ');
    if (name !== 'expiresAt') return text || 'none';
    return text.replace('T', ' ') || (validFor ? 'after the first activation' : 'never');
  };
  return (
    <Changes
      form={form}
      labels={LABELS}
      textOf={textOf}
      lead="Machines get the change at their next activation, or after their next check:"
    >
      {form.changed.includes('seatLimit') && limit > 0 && limit < used && (
        <p>
          {used} machines are active. None of them loses its seat, and no other gets one until fewer than{' '}
          {limit} are.
        </p>
      )}
    </Changes>
  );
}

const LABELS: Readonly<Record<EditKey, string>> = { ...TERM_LABELS, expiresAt: 'Expires' };

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

/** Only the terms that changed, as the hub requires. @throws FieldError if a value cannot be read */
function requestOf(values: Values<EditKey>, names: readonly EditKey[]) {
  const { expiresAt } = values;
  return {
    updateMask: { paths: names.map(snakeCase) },
    ...readTerms(values, (name) => names.includes(name)),
    ...(names.includes('expiresAt') && expiresAt !== '' && { expiresAt: readTime('expiresAt', expiresAt) }),
  };
}
