// Records the event of a license that a change made expire.
import type { PoolClient } from 'pg';
import { endOf, recordPassedEnds } from '../../expiry-events.ts';
import type { LockedLicense } from './locked-license.ts';

/** `before` and `after` are the same license before and after the change. */
export async function recordIfExpired(
  client: PoolClient,
  { before, after }: { readonly before: LockedLicense; readonly after: LockedLicense },
  now: Date,
): Promise<void> {
  const [beforeMs, afterMs] = [endOfLicense(before), endOfLicense(after)];
  await recordPassedEnds(client, [{ licenseId: after.id, appId: after.app.id, beforeMs, afterMs }], now);
}

function endOfLicense({ state, terms }: LockedLicense): number {
  return endOf({ ...terms, revoked: state.revoked !== null });
}
