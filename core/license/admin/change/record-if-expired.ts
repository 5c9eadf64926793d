// Records the event of a license that a change made expire.
import type { PoolClient } from 'pg';
import { recordPassedEnds } from '../../expiry-events.ts';
import { expiryEndMs } from '../../state.ts';
import type { LockedLicense } from './locked-license.ts';

/** `before` and `after` are the same license before and after the change. */
export async function recordIfExpired(
  client: PoolClient,
  { before, after }: { readonly before: LockedLicense; readonly after: LockedLicense },
  now: Date,
): Promise<void> {
  const beforeMs = expiryEndMs({ ...before.terms, revoked: before.state.revoked !== null });
  const afterMs = expiryEndMs({ ...after.terms, revoked: after.state.revoked !== null });
  await recordPassedEnds(client, [{ licenseId: after.id, appId: after.app.id, beforeMs, afterMs }], now);
}
