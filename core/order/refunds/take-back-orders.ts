// Takes back what the orders of refunded sessions gave, by the policy of the offer version that was sold.
//
// It runs in the transaction that records the full refund or the reversal. It locks the session first, then
// the order, then the licenses. If a license cannot be taken back, it stays as it is, and the reason of the
// order says so.
import type { PoolClient } from 'pg';
import type { Change } from '../../audit/record.ts';
import type { NewEvent } from '../../event/outbox.ts';
import { formatId } from '../../ids.ts';
import { lockLicense } from '../../license/admin/change/locked-license.ts';
import type { TakeBack } from '../../payment/order-interface.ts';
import { inGrantSavepoint } from '../fulfillment/grant-savepoint.ts';
import type { OrderLicense } from '../orders/order-licenses.ts';
import { type Cause, licenseReason, orderReason } from './refund-reasons.ts';
import { lockOrders, type RefundedOrder, type TakenLicense, writeRefundedOrder } from './refunded-orders.ts';
import { type LicenseResult, takeLicense } from './take-back-license.ts';

type Options = Parameters<TakeBack>[3];

export const takeBack: TakeBack = async (client, _send, refunded, options) => {
  if (refunded.length === 0) return { events: [], changes: [] };
  const results: Result[] = [];
  const sessionIds = refunded.map(({ id }) => id);
  for (const order of await lockOrders(client, sessionIds)) {
    if (order.state === 'refunded') continue;
    const cause = refunded.find(({ id }) => id === order.sessionId)?.cause ?? 'refund';
    results.push(await takeOrKeep(client, order, cause, options));
  }
  // The licenses have recorded their own events and changes.
  return { events: results.map(eventOf), changes: results.map(changeOf) };
};

type Result = {
  readonly order: RefundedOrder;
  readonly cause: Cause;
  readonly reason: string;
  readonly licenses: readonly TakenLicense[];
};

/** Keeps the licenses if the database refuses the changes. Other errors roll the transaction back. */
async function takeOrKeep(
  client: PoolClient,
  order: RefundedOrder,
  cause: Cause,
  options: Options,
): Promise<Result> {
  const taken = await inGrantSavepoint(client, () => takeLicenses(client, order, cause, options));
  const results: readonly LicenseResult[] = 'result' in taken ? taken.result : order.licenses.map(keptOf);
  const notes =
    'result' in taken
      ? results.flatMap(({ note }) => note ?? [])
      : [`nothing was taken back: ${taken.refused}`];
  const licenses = results.map(({ note: _, ...license }) => license);
  const reason = orderReason(cause, notes);
  await writeRefundedOrder(client, order, { reason, licenses, at: options.at });
  return { order, cause, reason, licenses };
}

async function takeLicenses(
  client: PoolClient,
  { id, policy, grantedAt, licenses }: RefundedOrder,
  cause: Cause,
  { at, actor }: Options,
): Promise<readonly LicenseResult[]> {
  const reason = licenseReason(cause, id);
  const results: LicenseResult[] = [];
  for (const orderLicense of licenses) {
    const { licenseId, takenBack, seatsTaken, timeTakenMs } = orderLicense;
    // The order of the payment after an earlier reversal was blocked, so this license was not restored.
    if (takenBack !== null) {
      results.push({ licenseId, takenBack, seatsTaken, timeTakenMs });
      continue;
    }
    const license = await lockLicense(client, formatId('lic', licenseId));
    const grant = { ...orderLicense, orderId: id, grantedAt: grantedAt ?? at };
    results.push(await takeLicense(client, { license, grant, policy, reason, actor, at }));
  }
  return results;
}

function keptOf({ licenseId, takenBack, seatsTaken, timeTakenMs }: OrderLicense): LicenseResult {
  return { licenseId, takenBack: takenBack ?? 'kept', seatsTaken, timeTakenMs };
}

function eventOf({ order: { id, appId, slotId } }: Result): NewEvent {
  return { type: 'order.refunded', objectId: id, appId, slotId };
}

function changeOf({ order, cause, reason, licenses }: Result): Change {
  const { id, state, sessionId, offer, quantity, policy } = order;
  const taken = licenses.map(({ licenseId, takenBack }) => [formatId('lic', licenseId), takenBack] as const);
  return {
    action: 'order.refund',
    subject: formatId('ord', id),
    before: { state, reason: order.reason },
    after: { state: 'refunded', reason, licenses: Object.fromEntries(taken) },
    detail: { session: formatId('chs', sessionId), offer, quantity, policy, cause },
  };
}
