// RenewLicense: extends the expiry of a license by a calendar period, or to a time.
import { addPeriod } from '../../../../lib/presentation/calendar.ts';
import { HubError } from '../../../errors.ts';
import { formatPeriod, type Period } from '../../calendar-period.ts';
import { checkExpiry } from './check-expiry.ts';
import type { ChangeableTerms, LockedLicense } from './locked-license.ts';

export type Extension = { readonly by: Period } | { readonly to: Date };

/**
 * Returns the terms of a license after its renewal. A period begins at the later of now and the expiry.
 *
 * @throws HubError `license_revoked`, `period_invalid`, `expiry_invalid`
 */
export function renewedTerms(
  { terms, state }: LockedLicense,
  extension: Extension,
  now: Date,
): ChangeableTerms {
  if (state.revoked) {
    throw new HubError('license_revoked', 'this license has been revoked: reinstate it before you renew it');
  }
  const field = 'by' in extension ? 'by' : 'to';
  const refuse = (message: string): HubError =>
    new HubError('by' in extension ? 'period_invalid' : 'expiry_invalid', message, { field });
  const { expiresAt } = terms;
  if (terms.beginsLater) throw refuse('the validity of this license begins at its first activation');
  if (expiresAt === null) throw refuse('this license never expires');
  const renewed = renewedExpiry(expiresAt, extension, now);
  if (renewed <= now) throw refuse('this time has passed: renew the license to a time in the future');
  if (renewed < expiresAt) {
    const until = expiresAt.toISOString();
    throw refuse(
      `the license is valid for longer, until ${until}: to shorten it, update the license with a new expiry`,
    );
  }
  checkExpiry(renewed, { graceDays: terms.graceDays, now }, field);
  return { ...terms, expiresAt: renewed };
}

function renewedExpiry(expiresAt: Date, extension: Extension, now: Date): Date {
  if ('to' in extension) return extension.to;
  formatPeriod(extension.by, 'by'); // throws for an empty period
  return addPeriod(expiresAt > now ? expiresAt : now, extension.by);
}
