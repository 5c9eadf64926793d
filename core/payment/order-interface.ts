// The interface of the order module: what payments need to sell offers. The order module implements it.
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { PoolClient } from 'pg';
import type { PurchaseSchema } from '../../gen/hub/payment/v1/payment_pb.ts';
import type { Actor } from '../access/caller.ts';
import type { Change } from '../audit/record.ts';
import type { NewEvent } from '../event/outbox.ts';
import type { Send } from '../storage/sql/transaction.ts';
import type { Money } from './money.ts';

/** The purchase that a request for a charge session asks for. */
export type PurchaseRequest = {
  /** `app/slug` or `ofr_…`. */
  readonly offer: string;
  readonly quantity: number;
  /** Empty if the amount names it, or if the offer has one price. */
  readonly currency: string;
  /** `cus_…` */
  readonly customerId: string | undefined;
  /** `lic_…`, for renewals and more seats. */
  readonly licenseId: string | undefined;
};

export type Buyer = {
  /** Name and email address, for a request without a customer id. */
  readonly name: string;
  readonly email: string;
  /** The apps that the caller's token is limited to; undefined if it is not limited. */
  readonly callerApps: readonly string[] | undefined;
};

/** A checked purchase with its price. */
export type Quote = {
  readonly amount: Money;
  /** `app/slug` */
  readonly offer: string;
  readonly quantity: number;
  /** Stores the purchase in the transaction that inserts its session. */
  insert(client: PoolClient, sessionId: string, context: { actor: Actor; now: Date }): Promise<void>;
};

/** A session that a settlement sets to paid. Ids are UUIDs. */
export type PaidSession = { readonly id: string; readonly slotId: string };

export type Fulfillment = { readonly events: readonly NewEvent[]; readonly changes: readonly Change[] };

export type FulfillOptions = {
  readonly at: Date;
  /** The actor of the changes in the audit log. */
  readonly actor: Actor;
  /**
   * Whether the transaction has no other session. A purchase that violates a constraint then becomes a
   * blocked order. Otherwise the error fails the transaction, and each of its sessions is settled alone.
   */
  readonly isAlone: boolean;
};

/**
 * Writes the orders of paid sessions, and issues or changes their licenses, in the transaction that settles
 * the sessions. The caller has locked the sessions, and records the events and changes.
 */
export type Fulfill = (
  client: PoolClient,
  send: Send,
  paid: readonly PaidSession[],
  options: FulfillOptions,
) => Promise<Fulfillment>;

/** A paid session whose payment was paid back. Ids are UUIDs. */
export type RefundedSession = PaidSession & { readonly cause: 'refund' | 'reversal' | 'dispute' };

/**
 * Takes back what the orders of sessions gave, by the policy of their offers. It runs in the transaction that
 * records the full refund or the reversal. The caller has locked the sessions, and records the events and
 * changes.
 */
export type TakeBack = (
  client: PoolClient,
  send: Send,
  refunded: readonly RefundedSession[],
  options: Pick<FulfillOptions, 'at' | 'actor'>,
) => Promise<Fulfillment>;

/** A purchase of a price of a provider's catalog, which the hub did not start. */
export type CatalogPurchase = {
  readonly gateway: string;
  readonly price: string;
  readonly quantity: number;
  /** What the customer pays at the provider. */
  readonly amount: Money;
  readonly buyer: Pick<Buyer, 'name' | 'email'>;
};

export type Sales = {
  /**
   * @throws HubError `offer_unknown`, `offer_archived`, `currency_not_offered`, `amount_invalid`,
   * `purchase_invalid`, `license_unknown`, `license_not_sellable`, `customer_unknown`, `customer_erased`
   */
  quote(request: PurchaseRequest, buyer: Buyer): Promise<Quote>;
  /** `none` or `several` unless exactly one offer names the price. */
  quoteCatalog(purchase: CatalogPurchase): Promise<Quote | 'none' | 'several'>;
  readonly fulfill: Fulfill;
  readonly takeBack: TakeBack;
  /**
   * Returns why an operator has to review a partial refund: it pays for some of the licenses of an order, but
   * not all. Undefined if there is nothing to review.
   *
   * @param sessionId UUID
   * @param refundedMinor the sum of the refunds of the session
   */
  reviewPartialRefund(
    client: PoolClient,
    sessionId: string,
    refundedMinor: bigint,
  ): Promise<string | undefined>;
  /** The purchases of sessions, by the UUID of the session. */
  readPurchases(
    sessionIds: readonly string[],
  ): Promise<ReadonlyMap<string, MessageInitShape<typeof PurchaseSchema>>>;
  issueClaim(sessionId: string): Promise<string>;
};
