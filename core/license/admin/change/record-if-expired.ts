// Records the event of a license that a change made expire.
import type { PoolClient } from 'pg';
import { recordPassedEnd } from '../../expiry-events.ts';
import { endsAtMs, licenseState } from '../../state.ts';
import type { LockedLicense } from './locked-license.ts';

/** `before` and `after` are the same license before and after the change. */
export async function recordIfExpired(
  client: PoolClient,
  { before, after }: { readonly before: LockedLicense; readonly after: LockedLicense },
  now: Date,
): Promise<void> {
  if (isExpired(before, now) || !isExpired(after, now)) return;
  const endsAt = new Date(endsAtMs(expiryOf(after)) ?? now);
  await recordPassedEnd(client, { licenseId: after.id, appId: after.app.id, endsAt }, now);
}

/** A suspension does not delay the expiry. */
function isExpired(license: LockedLicense, at: Date): boolean {
  const { revoked } = license.state;
  return (
    licenseState({ ...expiryOf(license), revoked: revoked !== null, suspended: false }, at) === 'expired'
  );
}

function expiryOf({ terms: { expiresAt, graceDays } }: LockedLicense) {
  return { expiresAtMs: expiresAt?.getTime() ?? null, graceDays };
}
