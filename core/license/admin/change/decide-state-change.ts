// Decides how the state of a license changes: suspended, resumed, revoked or reinstated. Writes a change
// under the lock of the license.
import type { PoolClient } from 'pg';
import type { EventType } from '../../../../lib/presentation/event-types.ts';
import type { Actor } from '../../../access/caller.ts';
import { type Change, recordChangeNow } from '../../../audit/record.ts';
import { HubError } from '../../../errors.ts';
import { recordEvent } from '../../../event/outbox.ts';
import { formatId } from '../../../ids.ts';
import { type LicenseState, type LockedLicense, writeState } from './locked-license.ts';
import { recordIfExpired } from './record-if-expired.ts';

export type StateChange = Pick<Change, 'action' | 'before' | 'after'> & {
  readonly state: LicenseState;
  readonly event: EventType;
};

/** Returns the change of a state at a time; false if the license has the state already. */
export type DecideState = (state: LicenseState, at: Date) => StateChange | false;

/** The function throws HubError `license_revoked`. */
export function suspended(reason: string): DecideState {
  return (state, at) => {
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
  };
}

export const resumed: DecideState = ({ suspended: before, ...state }) =>
  before !== null && {
    state: { ...state, suspended: null },
    action: 'license.resume',
    event: 'license.resumed',
    before: { suspended: true, reason: before.reason },
    after: { suspended: false },
  };

export function revoked(reason: string): DecideState {
  return (state, at) =>
    state.revoked === null && {
      state: { ...state, revoked: { at, reason } },
      action: 'license.revoke',
      event: 'license.revoked',
      before: { state: 'active' },
      after: { state: 'revoked', reason },
    };
}

export const reinstated: DecideState = ({ revoked: before, ...state }) =>
  before !== null && {
    state: { ...state, revoked: null },
    action: 'license.reinstate',
    event: 'license.reinstated',
    before: { state: 'revoked', reason: before.reason },
    after: { state: 'active' },
  };

export type StateWrite = {
  readonly license: LockedLicense;
  readonly decide: DecideState;
  readonly actor: Actor;
  readonly now: Date;
};

/**
 * Writes the new state of a locked license, the event and the audit entry. Returns false if nothing changes.
 */
export async function writeStateChange(
  client: PoolClient,
  { license, decide, actor, now }: StateWrite,
): Promise<boolean> {
  const change = decide(license.state, now);
  if (!change) return false;
  const { state, event, ...facts } = change;
  await writeState(client, license.id, state);
  await recordEvent(client, now, { type: event, objectId: license.id, appId: license.app.id });
  await recordIfExpired(client, { before: license, after: { ...license, state } }, now);
  await recordChangeNow(client, actor, now, { ...facts, subject: formatId('lic', license.id) });
  return true;
}
