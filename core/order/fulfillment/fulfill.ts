// Grants what paid sessions sell: writes their orders, and issues or changes their licenses.
//
// It runs in the transaction that settles the sessions. Locks are taken in the order session, order, license.
// What cannot be granted becomes a blocked order, so that the payment always settles.
import type { PoolClient } from 'pg';
import type { KeySecrets } from '../../license/keys/open-key-secrets.ts';
import type { Fulfill, Fulfillment, FulfillOptions, PaidSession } from '../../payment/order-interface.ts';
import type { Send } from '../../storage/sql/transaction.ts';
import { grantPurchases, type QueueMails } from './grant-purchases.ts';
import { inGrantSavepoint } from './grant-savepoint.ts';
import { type OrderAttempt, orderOf, toFulfillment } from './order-attempt.ts';
import { type PaidPurchase, readPaidPurchases } from './read-paid-purchases.ts';
import { writeOrders } from './write-orders.ts';

export function createFulfill(
  keySecrets: Pick<KeySecrets, 'activeIn'>,
  queueMails: QueueMails = () => [],
): Fulfill {
  return async (client, send, paid, options) => {
    if (paid.length === 0) return NOTHING;
    const purchases = await readOpenPurchases(client, paid);
    if (purchases.length === 0) return NOTHING;
    const grantAll = async (through: Send) => {
      const issues = purchases.some(({ grant }) => grant.kind === 'license');
      const keySecret = issues ? await keySecrets.activeIn(client, 'derivation') : undefined;
      return grantPurchases(client, through, purchases, { ...options, keySecret, queueMails });
    };
    if (!options.isAlone) return toFulfillment(await grantAll(send));
    return toFulfillment(await grantOrBlock(client, purchases, grantAll, options));
  };
}

const NOTHING: Fulfillment = { events: [], changes: [] };

/**
 * Leaves out the purchases of fulfilled orders. A payment after a reversal grants again what the reversal
 * took back.
 */
async function readOpenPurchases(client: PoolClient, paid: readonly PaidSession[]): Promise<PaidPurchase[]> {
  const sessionIds = paid.map(({ id }) => id);
  const purchases = await readPaidPurchases(client, sessionIds);
  return purchases.filter(({ order }) => order?.state !== 'fulfilled');
}

/**
 * Blocks the orders if the grant violates a constraint. Other errors roll the settlement back, which is
 * repeated.
 */
async function grantOrBlock(
  client: PoolClient,
  purchases: readonly PaidPurchase[],
  grantAll: (send: Send) => Promise<readonly OrderAttempt[]>,
  { at }: FulfillOptions,
): Promise<readonly OrderAttempt[]> {
  const sent: Promise<unknown>[] = [];
  const send: Send = (statement) => {
    const result = client.query(statement);
    result.catch(() => {}); // handled below
    sent.push(result);
    return result;
  };
  const granted = await inGrantSavepoint(client, async () => {
    try {
      const attempts = await grantAll(send);
      await Promise.all(sent);
      return attempts;
    } finally {
      await Promise.allSettled(sent);
    }
  });
  if ('result' in granted) return granted.result;
  const blocked = `the database refused the grant: ${granted.refused}`;
  const attempts = purchases.map((purchase) => ({ ...orderOf(purchase), licenses: [], blocked }));
  await client.query(writeOrders(attempts, at));
  return attempts;
}
