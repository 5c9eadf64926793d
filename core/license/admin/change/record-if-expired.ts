// Records the event of a license that a change made expire.
import type { PoolClient } from 'pg';
import { recordPassedEnd } from '../../expiry-events.ts';
import { endsAtMs } from '../../state.ts';
import type { LockedLicense } from './locked-license.ts';

/** `before` and `after` are the same license before and after the change. */
export async function recordIfExpired(
  client: PoolClient,
  { before, after }: { readonly before: LockedLicense; readonly after: LockedLicense },
  now: Date,
): Promise<void> {
  const [beforeMs, afterMs] = [endOf(before), endOf(after)];
  await recordPassedEnd(client, { licenseId: after.id, appId: after.app.id, beforeMs, afterMs }, now);
}

/** A license that is revoked does not expire. A suspension does not delay the expiry. */
function endOf({ state, terms: { expiresAt, graceDays } }: LockedLicense): number {
  const endMs = endsAtMs({ expiresAtMs: expiresAt?.getTime() ?? null, graceDays });
  return state.revoked === null && endMs !== null ? endMs : Number.POSITIVE_INFINITY;
}
