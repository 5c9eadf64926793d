// Grants what paid sessions sell: writes their orders, and issues or changes their licenses.
//
// It runs in the transaction that settles the sessions. Locks are taken in the order session, order, license. What
// cannot be granted becomes a blocked order, so that the payment always settles.
import { DatabaseError, type PoolClient, type QueryConfig } from 'pg';
import type { Change } from '../../audit/record.ts';
import type { NewEvent } from '../../event/outbox.ts';
import { formatId, newUuid } from '../../ids.ts';
import { writeChange } from '../../license/admin/change/change-terms.ts';
import { lockLicense } from '../../license/admin/change/locked-license.ts';
import { insertLicenses, newLicense } from '../../license/admin/insert-licenses.ts';
import { type NewTerms, withDefaultTerms } from '../../license/admin/issue-terms.ts';
import type { KeySecrets, OpenedKeySecret } from '../../license/keys/key-secrets.ts';
import { formatPeriod } from '../../license/period.ts';
import type { Fulfill, Fulfillment, FulfillOptions, PaidSession } from '../../payment/sales.ts';
import type { Send } from '../../storage/sql/transaction.ts';
import type { LicenseGrant, RenewalGrant, SeatsGrant } from '../offers/grant.ts';
import type { OrderLicense } from '../orders/read-orders.ts';
import { grantOnLicense } from './grant-on-license.ts';
import { type PaidPurchase, readPaidPurchases } from './read-purchases.ts';
import { type Granted, insertOrderLicenses, writeOrders } from './statements.ts';

/** The statements that queue mails, for the transaction that grants the orders. */
export type QueueMails = (granted: readonly Granted[], at: Date) => readonly QueryConfig[];

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

/** Leaves out the purchases of fulfilled orders: a payment after a reversal grants nothing again. */
async function readOpenPurchases(client: PoolClient, paid: readonly PaidSession[]): Promise<PaidPurchase[]> {
  const purchases = await readPaidPurchases(
    client,
    paid.map(({ id }) => id),
  );
  return purchases.filter(({ order }) => order?.state !== 'fulfilled');
}

type GrantOptions = Pick<FulfillOptions, 'at' | 'actor'> & {
  /** Derives the keys of new licenses; undefined if no purchase issues any. */
  readonly keySecret: OpenedKeySecret | undefined;
  readonly queueMails: QueueMails;
};

async function grantPurchases(
  client: PoolClient,
  send: Send,
  purchases: readonly PaidPurchase[],
  options: GrantOptions,
): Promise<readonly Granted[]> {
  const granted = issueLicenses(send, purchases, options);
  for (const purchase of purchases.toSorted(byLicense)) {
    const { grant } = purchase;
    if (grant.kind === 'license') continue;
    granted.push({ ...orderOf(purchase), ...(await change(client, { purchase, grant }, options)) });
  }
  send(writeOrders(granted, options.at));
  send(insertOrderLicenses(granted));
  for (const statement of options.queueMails(granted, options.at)) send(statement);
  return granted;
}

function orderOf(purchase: PaidPurchase): Pick<Granted, 'purchase' | 'orderId'> {
  return { purchase, orderId: purchase.order?.id ?? newUuid() };
}

/** The order in which concurrent transactions lock licenses. */
function byLicense(one: PaidPurchase, other: PaidPurchase): number {
  return (one.licenseId ?? '') < (other.licenseId ?? '') ? -1 : 1;
}

/** Inserts the new licenses of all purchases, with one statement for each version of an offer. */
function issueLicenses(
  send: Send,
  purchases: readonly PaidPurchase[],
  { keySecret, at }: GrantOptions,
): Granted[] {
  const granted: Granted[] = [];
  for (const sold of Map.groupBy(purchases, ({ offerVersionId }) => offerVersionId).values()) {
    const [{ app, grant } = {}] = sold;
    if (app === undefined || grant?.kind !== 'license') continue;
    if (keySecret === undefined) throw new Error('new licenses need a key secret');
    const rows = sold.flatMap((purchase) => {
      const { quantity, customerId } = purchase;
      const issued = Array.from({ length: quantity }, () => ({
        ...newLicense(keySecret.secret),
        customerId,
      }));
      granted.push({ ...orderOf(purchase), licenses: issued.map(({ id }) => issuedLicense(id)) });
      return issued;
    });
    const common = { appId: app.id, keySecretId: keySecret.id, createdAt: at, terms: termsOf(app, grant) };
    send(insertLicenses(rows, common));
  }
  return granted;
}

function termsOf(app: PaidPurchase['app'], grant: LicenseGrant): NewTerms {
  return {
    ...withDefaultTerms(app, {
      seatLimit: grant.seatLimit,
      graceDays: grant.graceDays ?? undefined,
      leaseDays: grant.leaseDays ?? undefined,
    }),
    limits: grant.limits,
    limitProfile: grant.limitProfile,
    expiresAt: null,
    validFor: grant.validFor && formatPeriod(grant.validFor, 'validFor'),
    features: [...grant.features],
    metadata: grant.metadata,
    signedMetadata: [...grant.signedMetadata],
  };
}

function issuedLicense(licenseId: string): OrderLicense {
  return { licenseId, issued: true, expiresBefore: null, expiresAfter: null, seatsAdded: 0 };
}

type Result = Pick<Granted, 'licenses' | 'blocked'>;

async function change(
  client: PoolClient,
  { purchase, grant }: { readonly purchase: PaidPurchase; readonly grant: RenewalGrant | SeatsGrant },
  { actor, at }: GrantOptions,
): Promise<Result> {
  const { licenseId, quantity } = purchase;
  if (licenseId === null) throw new Error(`the purchase of session ${purchase.sessionId} names no license`);
  const license = await lockLicense(client, formatId('lic', licenseId));
  const result = grantOnLicense(license, grant, quantity, at);
  if ('blocked' in result) return { licenses: [], blocked: result.blocked };
  const isRenewal = grant.kind === 'renewal';
  const action = isRenewal ? 'license.renew' : 'license.update';
  await writeChange(client, { license, after: result.terms, action, actor, now: at });
  const changed: OrderLicense = {
    licenseId,
    issued: false,
    expiresBefore: isRenewal ? license.terms.expiresAt : null,
    expiresAfter: isRenewal ? result.terms.expiresAt : null,
    seatsAdded: isRenewal ? 0 : result.terms.seatLimit - license.terms.seatLimit,
  };
  return { licenses: [changed] };
}

/** Blocks the orders if the grant violates a constraint. Other errors roll the settlement back, which is repeated. */
async function grantOrBlock(
  client: PoolClient,
  purchases: readonly PaidPurchase[],
  grantAll: (send: Send) => Promise<readonly Granted[]>,
  { at }: FulfillOptions,
): Promise<readonly Granted[]> {
  await client.query('savepoint grant_purchases');
  const sent: Promise<unknown>[] = [];
  const send: Send = (statement) => {
    const answer = client.query(statement);
    answer.catch(() => {}); // handled below
    sent.push(answer);
    return answer;
  };
  try {
    const granted = await grantAll(send);
    await Promise.all(sent);
    await client.query('release savepoint grant_purchases');
    return granted;
  } catch (error) {
    await Promise.allSettled(sent);
    if (!violatesConstraint(error)) throw error;
    await client.query('rollback to savepoint grant_purchases');
    const blocked = `the database refused the grant: ${error.message}`;
    const orders = purchases.map((purchase) => ({ ...orderOf(purchase), licenses: [], blocked }));
    await client.query(writeOrders(orders, at));
    return orders;
  }
}

/** SQLSTATE classes 22 (invalid value) and 23 (constraint). */
function violatesConstraint(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '');
}

function toFulfillment(granted: readonly Granted[]): Fulfillment {
  return { events: granted.flatMap(eventsOf), changes: granted.flatMap(changeOf) };
}

/** A renewal or more seats has recorded the event of its license already. */
function eventsOf({ purchase, orderId, licenses, blocked }: Granted): NewEvent[] {
  const { app, slotId } = purchase;
  const order = { objectId: orderId, appId: app.id, slotId };
  if (blocked !== undefined) return isNews(purchase, blocked) ? [{ type: 'order.blocked', ...order }] : [];
  const issued = licenses.filter((license) => license.issued);
  return [
    ...issued.map(
      ({ licenseId }) => ({ type: 'license.issued', objectId: licenseId, appId: app.id }) as const,
    ),
    { type: 'order.fulfilled', ...order },
  ];
}

function changeOf({ purchase, orderId, licenses, blocked }: Granted): Change[] {
  const { order, offer, quantity, sessionId } = purchase;
  if (blocked !== undefined && !isNews(purchase, blocked)) return [];
  return [
    {
      action: blocked === undefined ? 'order.fulfill' : 'order.block',
      subject: formatId('ord', orderId),
      before: order && { state: order.state, reason: order.reason },
      after:
        blocked === undefined
          ? { state: 'fulfilled', licenses: licenses.map(({ licenseId }) => formatId('lic', licenseId)) }
          : { state: 'blocked', reason: blocked },
      detail: { session: formatId('chs', sessionId), offer, quantity },
    },
  ];
}

/** Whether the order was not blocked for this reason before. */
function isNews({ order }: PaidPurchase, blocked: string): boolean {
  return order?.reason !== blocked;
}
