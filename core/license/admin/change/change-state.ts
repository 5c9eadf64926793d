// Suspends, resumes, revokes and reinstates licenses. If a license already has the state, nothing changes.
import type { Actor } from '../../../access/caller.ts';
import { inTransaction } from '../../../storage/sql/transaction.ts';
import { findLicense } from '../find-licenses.ts';
import type { Changed, ChangeOptions } from './change-terms.ts';
import { type DecideState, writeStateChange } from './decide-state-change.ts';
import { lockLicense } from './locked-license.ts';

/**
 * @param decide is called under the lock of the license
 * @throws HubError `license_unknown`, and the errors of `decide`
 */
export async function changeState(
  { db, clock }: ChangeOptions,
  licenseId: string,
  decide: DecideState,
  actor: Actor,
): Promise<Changed> {
  const changed = await inTransaction(db.pool, async (client) => {
    const license = await lockLicense(client, licenseId);
    return writeStateChange(client, { license, decide, actor, now: clock() });
  });
  return { license: await findLicense(db.em(), licenseId), changed };
}
