// Grants purchases: issues their licenses, or changes them, and writes their orders.
import type { PoolClient, QueryConfig } from 'pg';
import { formatId } from '../../ids.ts';
import { writeChange } from '../../license/admin/change/change-terms.ts';
import { lockLicense } from '../../license/admin/change/locked-license.ts';
import { insertLicenses, newLicense } from '../../license/admin/insert-licenses.ts';
import { type NewTerms, withDefaultTerms } from '../../license/admin/issue-terms.ts';
import { formatPeriod } from '../../license/calendar-period.ts';
import type { OpenedKeySecret } from '../../license/keys/open-key-secrets.ts';
import type { FulfillOptions } from '../../payment/order-interface.ts';
import type { Send } from '../../storage/sql/transaction.ts';
import type { LicenseGrant, RenewalGrant, SeatsGrant } from '../offers/grant.ts';
import { NOT_TAKEN, type OrderLicense } from '../orders/order-licenses.ts';
import { type GrantedOrder, readGrantedOrders, restoreLicenses } from '../refunds/restore-licenses.ts';
import { grantOnLicense } from './grant-on-license.ts';
import { type OrderAttempt, orderOf } from './order-attempt.ts';
import type { PaidPurchase } from './read-paid-purchases.ts';
import { insertOrderLicenses, writeOrders } from './write-orders.ts';

/** The statements that queue mails, for the transaction that grants the orders. */
export type QueueMails = (attempts: readonly OrderAttempt[], at: Date) => readonly QueryConfig[];

export type GrantOptions = Pick<FulfillOptions, 'at' | 'actor'> & {
  /** Derives the keys of new licenses; undefined if no purchase issues any. */
  readonly keySecret: OpenedKeySecret | undefined;
  readonly queueMails: QueueMails;
};

/** Issues and changes the licenses of the purchases, and writes their orders. */
export async function grantPurchases(
  client: PoolClient,
  send: Send,
  purchases: readonly PaidPurchase[],
  options: GrantOptions,
): Promise<readonly OrderAttempt[]> {
  const earlier = await readGrantedOrders(client, orderIdsOf(purchases));
  const isNew = ({ order }: PaidPurchase): boolean => order === null || !earlier.has(order.id);
  const attempts = issueLicenses(send, purchases.filter(isNew), options);
  for (const purchase of purchases.toSorted(byLicense)) {
    const { grant, order } = purchase;
    const granted = order && earlier.get(order.id);
    if (granted) attempts.push({ ...orderOf(purchase), ...(await restoreOrder(client, granted, options)) });
    else if (grant.kind !== 'license') {
      attempts.push({ ...orderOf(purchase), ...(await change(client, { purchase, grant }, options)) });
    }
  }
  send(writeOrders(attempts, options.at));
  send(insertOrderLicenses(attempts));
  for (const statement of options.queueMails(attempts, options.at)) send(statement);
  return attempts;
}

/** The orders of earlier attempts, and of payments that were reversed. */
function orderIdsOf(purchases: readonly PaidPurchase[]): string[] {
  return purchases.flatMap(({ order }) => order?.id ?? []);
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
): OrderAttempt[] {
  const attempts: OrderAttempt[] = [];
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
      attempts.push({ ...orderOf(purchase), licenses: issued.map(({ id }) => issuedLicense(id)) });
      return issued;
    });
    const common = { appId: app.id, keySecretId: keySecret.id, createdAt: at, terms: termsOf(app, grant) };
    send(insertLicenses(rows, common));
  }
  return attempts;
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
  return { licenseId, issued: true, expiresBefore: null, expiresAfter: null, seatsAdded: 0, ...NOT_TAKEN };
}

type Result = Omit<OrderAttempt, 'purchase' | 'orderId'>;

/** Grants the order of a payment after a reversal. */
async function restoreOrder(client: PoolClient, order: GrantedOrder, options: GrantOptions): Promise<Result> {
  const result = await restoreLicenses(client, order, options);
  if ('blocked' in result) return { licenses: [], blocked: result.blocked };
  return { licenses: result.licenses, notes: result.notes, isAgain: true };
}

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
    ...NOT_TAKEN,
  };
  return { licenses: [changed] };
}
