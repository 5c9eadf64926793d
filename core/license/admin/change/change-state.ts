// Suspends, resumes, revokes and reinstates licenses. If a license already has the state, nothing changes.
import type { Actor } from '../../../access/caller.ts';
import { inTransaction } from '../../../storage/sql/transaction.ts';
import { findLicense } from '../find-licenses.ts';
import type { Changed, ChangeOptions } from './change-terms.ts';
import {
  type DecideState,
  reinstated,
  resumed,
  revoked,
  suspended,
  writeStateChange,
} from './decide-state-change.ts';
import { lockLicense } from './locked-license.ts';

type StateRequest = { readonly licenseId: string; readonly reason: string };

/** @throws HubError `license_unknown`, `license_revoked` */
export function suspendLicense(
  options: ChangeOptions,
  { licenseId, reason }: StateRequest,
  actor: Actor,
): Promise<Changed> {
  return changeState(options, licenseId, actor, suspended(reason));
}

/** @throws HubError `license_unknown` */
export function resumeLicense(options: ChangeOptions, licenseId: string, actor: Actor): Promise<Changed> {
  return changeState(options, licenseId, actor, resumed);
}

/** @throws HubError `license_unknown` */
export function revokeLicense(
  options: ChangeOptions,
  { licenseId, reason }: StateRequest,
  actor: Actor,
): Promise<Changed> {
  return changeState(options, licenseId, actor, revoked(reason));
}

/** @throws HubError `license_unknown` */
export function reinstateLicense(options: ChangeOptions, licenseId: string, actor: Actor): Promise<Changed> {
  return changeState(options, licenseId, actor, reinstated);
}

/** @param decide is called under the lock of the license */
async function changeState(
  { db, clock }: ChangeOptions,
  licenseId: string,
  actor: Actor,
  decide: DecideState,
): Promise<Changed> {
  const changed = await inTransaction(db.pool, async (client) => {
    const license = await lockLicense(client, licenseId);
    return writeStateChange(client, { license, decide, actor, now: clock() });
  });
  return { license: await findLicense(db.em(), licenseId), changed };
}
