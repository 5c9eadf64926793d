// SuspendLicense and ResumeLicense.
import type { Actor } from '../../../access/caller.ts';
import { recordChangeNow } from '../../../audit/record.ts';
import { HubError } from '../../../errors.ts';
import type { License } from '../../entities.ts';
import { type ChangeOptions, changeState } from './change-license.ts';

/** Suspending a suspended license changes nothing. @throws HubError `license_unknown`, `license_revoked` */
export function suspendLicense(
  options: ChangeOptions,
  { licenseId, reason }: { readonly licenseId: string; readonly reason: string },
  actor: Actor,
): Promise<License> {
  return changeState(options, licenseId, async ({ id, isRevoked, suspendReason }, now, client) => {
    if (isRevoked) throw new HubError('license_revoked', 'this license has been revoked');
    if (suspendReason !== null) return;
    await client.query({
      name: 'suspend_license',
      // license_pkey
      text: 'update license set suspended_at = $2, suspend_reason = $3 where id = $1',
      values: [id, now, reason],
    });
    await recordChangeNow(client, actor, now, {
      action: 'license.suspend',
      subject: licenseId,
      before: { suspended: false },
      after: { suspended: true, reason },
    });
  });
}

/** Resuming a license that is not suspended changes nothing. @throws HubError `license_unknown` */
export function resumeLicense(options: ChangeOptions, licenseId: string, actor: Actor): Promise<License> {
  return changeState(options, licenseId, async ({ id, suspendReason }, now, client) => {
    if (suspendReason === null) return;
    await client.query({
      name: 'resume_license',
      // license_pkey
      text: 'update license set suspended_at = null, suspend_reason = null where id = $1',
      values: [id],
    });
    await recordChangeNow(client, actor, now, {
      action: 'license.resume',
      subject: licenseId,
      before: { suspended: true, reason: suspendReason },
      after: { suspended: false },
    });
  });
}
