// Suspends, resumes, revokes and reinstates licenses. If a license already has the state, nothing changes.

import type { EventType } from '../../../../lib/presentation/event-types.ts';
import type { Actor } from '../../../access/caller.ts';
import { type Change, recordChangeNow } from '../../../audit/record.ts';
import { HubError } from '../../../errors.ts';
import { recordEvent } from '../../../event/outbox.ts';
import { inTransaction } from '../../../storage/sql/transaction.ts';
import { findLicense } from '../licenses.ts';
import type { Changed, ChangeOptions } from './change-terms.ts';
import { type LicenseState, lockLicense, writeState } from './locked-license.ts';

type StateRequest = { readonly licenseId: string; readonly reason: string };

/** @throws HubError `license_unknown`, `license_revoked` */
export function suspendLicense(
  options: ChangeOptions,
  { licenseId, reason }: StateRequest,
  actor: Actor,
): Promise<Changed> {
  return changeState(options, licenseId, actor, (state, at) => {
    if (state.revoked) throw new HubError('license_revoked', 'this license has been revoked');
    return (
      state.suspended === null && {
        state: { ...state, suspended: { at, reason } },
        action: 'license.suspend',
        event: 'license.suspended',
        before: { suspended: false },
        after: { suspended: true, reason },
      }
    );
  });
}

/** @throws HubError `license_unknown` */
export function resumeLicense(options: ChangeOptions, licenseId: string, actor: Actor): Promise<Changed> {
  return changeState(
    options,
    licenseId,
    actor,
    ({ suspended, ...state }) =>
      suspended !== null && {
        state: { ...state, suspended: null },
        action: 'license.resume',
        event: 'license.resumed',
        before: { suspended: true, reason: suspended.reason },
        after: { suspended: false },
      },
  );
}

/** @throws HubError `license_unknown` */
export function revokeLicense(
  options: ChangeOptions,
  { licenseId, reason }: StateRequest,
  actor: Actor,
): Promise<Changed> {
  return changeState(
    options,
    licenseId,
    actor,
    (state, at) =>
      state.revoked === null && {
        state: { ...state, revoked: { at, reason } },
        action: 'license.revoke',
        event: 'license.revoked',
        before: { state: 'active' },
        after: { state: 'revoked', reason },
      },
  );
}

/** @throws HubError `license_unknown` */
export function reinstateLicense(options: ChangeOptions, licenseId: string, actor: Actor): Promise<Changed> {
  return changeState(
    options,
    licenseId,
    actor,
    ({ revoked, ...state }) =>
      revoked !== null && {
        state: { ...state, revoked: null },
        action: 'license.reinstate',
        event: 'license.reinstated',
        before: { state: 'revoked', reason: revoked.reason },
        after: { state: 'active' },
      },
  );
}

type StateChange = Pick<Change, 'action' | 'before' | 'after'> & {
  readonly state: LicenseState;
  readonly event: EventType;
};

/** @param decide returns the change, under the lock of the license; false for no change */
async function changeState(
  { db, clock }: ChangeOptions,
  licenseId: string,
  actor: Actor,
  decide: (state: LicenseState, now: Date) => StateChange | false,
): Promise<Changed> {
  const changed = await inTransaction(db.pool, async (client) => {
    const license = await lockLicense(client, licenseId);
    const now = clock();
    const change = decide(license.state, now);
    if (!change) return false;
    const { state, event, ...facts } = change;
    await writeState(client, license.id, state);
    await recordEvent(client, now, { type: event, objectId: license.id, appId: license.app.id });
    await recordChangeNow(client, actor, now, { ...facts, subject: licenseId });
    return true;
  });
  return { license: await findLicense(db.em(), licenseId), changed };
}
