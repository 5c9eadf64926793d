// Takes back one license, or what an order gave it, under its lock.
import type { PoolClient } from 'pg';
import type { Actor } from '../../access/caller.ts';
import { formatId } from '../../ids.ts';
import { writeChange } from '../../license/admin/change/change-terms.ts';
import {
  type DecideState,
  revoked,
  suspended,
  writeStateChange,
} from '../../license/admin/change/decide-state-change.ts';
import type { LockedLicense } from '../../license/admin/change/locked-license.ts';
import type { RefundPolicyName } from '../entities.ts';
import { readOtherGrants, type TakenLicense } from './refunded-orders.ts';
import { type OrderGrant, undoGrant } from './undo-grant.ts';

/**
 * A license after the refund. `note` is for operators: a clause that says what was not taken back, and why.
 */
export type LicenseResult = TakenLicense & { readonly note?: string };

export type LicenseRefund = {
  readonly license: LockedLicense;
  readonly grant: OrderGrant & { readonly orderId: string };
  readonly policy: RefundPolicyName;
  /** Names the order. */
  readonly reason: string;
  readonly actor: Actor;
  readonly at: Date;
};

export async function takeLicense(client: PoolClient, refund: LicenseRefund): Promise<LicenseResult> {
  const { license, policy, reason } = refund;
  switch (policy) {
    case 'keep':
      return keep(license);
    case 'suspend':
      if (license.state.revoked) return keep(license, 'had been revoked before');
      return suspendOrRevoke(client, refund, suspended(reason), 'suspended');
    case 'revoke':
      return suspendOrRevoke(client, refund, revoked(reason), 'revoked');
    case 'undo':
      return undo(client, refund);
  }
}

const NOTHING = { seatsTaken: 0, timeTakenMs: 0 } as const;

function keep({ id }: LockedLicense, problem?: string): LicenseResult {
  const note = problem === undefined ? {} : { note: `license ${formatId('lic', id)} ${problem}` };
  return { licenseId: id, takenBack: 'kept', ...NOTHING, ...note };
}

async function suspendOrRevoke(
  client: PoolClient,
  { license, actor, at: now }: LicenseRefund,
  decide: DecideState,
  takenBack: 'suspended' | 'revoked',
): Promise<LicenseResult> {
  const changed = await writeStateChange(client, { license, decide, actor, now });
  if (!changed) return keep(license, `had been ${takenBack} before`);
  return { licenseId: license.id, takenBack, ...NOTHING };
}

async function undo(
  client: PoolClient,
  { license, grant, actor, at }: LicenseRefund,
): Promise<LicenseResult> {
  const others = await readOtherGrants(client, license.id, grant.orderId);
  const result = undoGrant(license, grant, others);
  if ('kept' in result) return keep(license, `${result.kept}, so nothing was taken back`);
  const { terms, ...taken } = result;
  await writeChange(client, { license, after: terms, action: 'license.update', actor, now: at });
  const over = terms.seatLimit === -1 ? 0 : license.seatsUsed - terms.seatLimit;
  const note = `license ${formatId('lic', license.id)} has ${over} more active machines than seats`;
  const isOver = taken.seatsTaken > 0 && over > 0;
  return { licenseId: license.id, takenBack: 'undone', ...taken, ...(isOver && { note }) };
}
