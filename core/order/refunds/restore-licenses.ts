// Restores the licenses of an order that were taken back, when its session is paid again after a reversal.
import type { PoolClient } from 'pg';
import type { Actor } from '../../access/caller.ts';
import { formatId } from '../../ids.ts';
import { writeChange } from '../../license/admin/change/change-terms.ts';
import {
  type DecideState,
  reinstated,
  resumed,
  writeStateChange,
} from '../../license/admin/change/decide-state-change.ts';
import { type LockedLicense, lockLicense } from '../../license/admin/change/locked-license.ts';
import { dateOf, epochMs } from '../../storage/sql/epoch.ts';
import { columns } from '../../storage/sql/transaction.ts';
import {
  LICENSES_OF_ORDER,
  NOT_TAKEN,
  type OrderLicense,
  type OrderLicenseRow,
  orderLicenseOf,
} from '../orders/order-licenses.ts';
import { isOwn } from './refund-reasons.ts';
import { restoreTerms } from './undo-grant.ts';

/** An order that was granted before. Ids are UUIDs. */
export type GrantedOrder = {
  readonly id: string;
  readonly customerId: string | null;
  readonly refundedAt: Date | null;
  readonly licenses: readonly OrderLicense[];
};

/** Returns the orders that have licenses, by id. Their sessions are locked. */
export async function readGrantedOrders(
  client: PoolClient,
  orderIds: readonly string[],
): Promise<ReadonlyMap<string, GrantedOrder>> {
  if (orderIds.length === 0) return new Map();
  const { rows } = await client.query<
    Omit<GrantedOrder, 'refundedAt' | 'licenses'> & {
      refundedAtMs: number | null;
      licenses: readonly OrderLicenseRow[];
    }
  >({
    name: 'read_granted_orders',
    // sales_order_pkey
    text: `select o.id, o.customer_id as "customerId", ${epochMs('o.refunded_at')} as "refundedAtMs",
                  ${LICENSES_OF_ORDER} as licenses
           from sales_order o where o.id = any($1)`,
    values: [orderIds],
  });
  const granted = rows.filter(({ licenses }) => licenses.length > 0);
  return new Map(
    granted.map(({ refundedAtMs, licenses, ...order }) => [
      order.id,
      { ...order, refundedAt: dateOf(refundedAtMs), licenses: licenses.map(orderLicenseOf) },
    ]),
  );
}

/** `note` says what is not restored, as a clause. */
type Restored = { readonly license: OrderLicense; readonly note?: string };

export type RestoredLicenses = {
  readonly licenses: readonly OrderLicense[];
  readonly notes: readonly string[];
};

type Options = { readonly actor: Actor; readonly at: Date };

/** Restores all licenses of the order, or returns why it cannot, as a sentence. */
export async function restoreLicenses(
  client: PoolClient,
  order: GrantedOrder,
  options: Options,
): Promise<RestoredLicenses | { readonly blocked: string }> {
  const restored: Restored[] = [];
  for (const license of order.licenses) {
    const result = await restoreLicense(client, order, license, options);
    if ('blocked' in result) return result;
    restored.push(result);
  }
  const licenses = restored.map(({ license }) => license);
  await writeRestored(client, order.id, licenses);
  return { licenses, notes: restored.flatMap(({ note }) => note ?? []) };
}

async function restoreLicense(
  client: PoolClient,
  order: GrantedOrder,
  taken: OrderLicense,
  options: Options,
): Promise<Restored | { readonly blocked: string }> {
  if (taken.takenBack === null || taken.takenBack === 'kept') return { license: { ...taken, ...NOT_TAKEN } };
  const license = await lockLicense(client, formatId('lic', taken.licenseId));
  if (taken.takenBack === 'undone') return changeTerms(client, license, taken, options);
  const decide = decisionOf(order, license, taken);
  if (typeof decide === 'string') {
    const note = `license ${formatId('lic', license.id)} ${decide}`;
    return { license: { ...taken, ...NOT_TAKEN }, note };
  }
  if (decide !== undefined) {
    await writeStateChange(client, { license, decide, actor: options.actor, now: options.at });
  }
  return { license: { ...taken, ...NOT_TAKEN } };
}

/**
 * The change that restores the license. A clause for the order if an operator changed the license since: it
 * then stays as it is. Undefined if the license is active.
 */
function decisionOf(
  order: GrantedOrder,
  { state, terms }: LockedLicense,
  { takenBack }: OrderLicense,
): DecideState | string | undefined {
  const [decision, change, word] =
    takenBack === 'revoked'
      ? [state.revoked, reinstated, 'revoked']
      : [state.suspended, resumed, 'suspended'];
  if (takenBack === 'suspended' && state.revoked) return 'stays revoked: an operator revoked it';
  if (decision === null) return undefined;
  if (!isOwn(decision, order)) return `stays ${word}: an operator ${word} it`;
  const { customerId } = order;
  if (customerId !== null && terms.customerId !== customerId) return `stays ${word}: it has another customer`;
  return change;
}

/** Adds the seats or the time again, as a new grant. */
async function changeTerms(
  client: PoolClient,
  license: LockedLicense,
  taken: OrderLicense,
  { actor, at }: Options,
): Promise<Restored | { readonly blocked: string }> {
  const result = restoreTerms(license, taken, at);
  if ('blocked' in result) return result;
  const { terms: after } = result;
  const isRenewal = taken.expiresAfter !== null;
  const action = isRenewal ? 'license.renew' : 'license.update';
  await writeChange(client, { license, after, action, actor, now: at });
  return {
    license: {
      ...taken,
      ...NOT_TAKEN,
      expiresBefore: isRenewal ? license.terms.expiresAt : null,
      expiresAfter: isRenewal ? after.expiresAt : null,
      seatsAdded: after.seatLimit - license.terms.seatLimit,
    },
  };
}

async function writeRestored(
  client: PoolClient,
  orderId: string,
  licenses: readonly OrderLicense[],
): Promise<void> {
  await client.query({
    name: 'write_restored_licenses',
    // order_license_pkey
    text: `update order_license l
           set expires_before = t.expires_before, expires_after = t.expires_after,
             seats_added = t.seats_added,
               taken_back = null, seats_taken = 0, time_taken_ms = 0
           from unnest($2::uuid[], $3::timestamptz[], $4::timestamptz[], $5::int[])
             as t (license_id, expires_before, expires_after, seats_added)
           where l.order_id = $1 and l.license_id = t.license_id`,
    values: [orderId, ...columns(licenses, 'licenseId', 'expiresBefore', 'expiresAfter', 'seatsAdded')],
  });
}
