// Checks what a request for a charge session wants to buy, and computes its price.
import { findOrCreateCustomer } from '../../customer/inline-customer.ts';
import { lockCustomerForShare } from '../../customer/lock-customer.ts';
import { HubError, unknownId } from '../../errors.ts';
import { readLicense } from '../../license/admin/change/locked-license.ts';
import type { ModuleDependencies } from '../../module-dependencies.ts';
import type { Money } from '../../payment/money.ts';
import type { Buyer, CatalogPurchase, PurchaseRequest, Quote } from '../../payment/order-interface.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { grantOnLicense } from '../fulfillment/grant-on-license.ts';
import { findOffersOfPrice } from '../offers/catalog-prices.ts';
import { formatOfferRef } from '../offers/find-offer.ts';
import type { Offers, VersionedOffer } from '../offers/offer-admin.ts';
import { amountOf } from '../offers/prices.ts';

export type QuoteOptions = Pick<ModuleDependencies, 'db' | 'sealer' | 'clock'> & {
  readonly offers: Pick<Offers, 'get'>;
};

/** The errors of the function are those of `Sales.quote`. */
export function createQuote({ db, sealer, offers, clock }: QuoteOptions) {
  /** The license that the purchase changes. */
  const checkLicense = async (
    { offer, version }: VersionedOffer,
    { licenseId, quantity }: PurchaseRequest,
  ): Promise<string | null> => {
    const { granted } = version;
    if (granted.kind === 'license') {
      if (licenseId === undefined) return null;
      throw purchaseInvalid('the offer sells new licenses: leave out licenseId');
    }
    if (licenseId === undefined) {
      const purpose = granted.kind === 'renewal' ? 'renew' : 'add seats to';
      throw purchaseInvalid(`set licenseId to the license to ${purpose}`);
    }
    const license = await readLicense(db.pool, licenseId);
    if (license.app.id !== offer.app.id) throw unknownId('lic');
    const result = grantOnLicense(license, granted, quantity, clock());
    if ('terms' in result) return license.id;
    throw new HubError('license_not_sellable', result.blocked, { field: 'licenseId' });
  };

  return async (request: PurchaseRequest, buyer: Buyer): Promise<Quote> => {
    const versioned = await offers.get(request.offer);
    const { offer, version } = versioned;
    if (offer.archivedAt != null) {
      throw new HubError('offer_archived', 'the offer is archived: it is not for sale', { field: 'offer' });
    }
    const { quantity, customerId } = request;
    const amount = amountOf(version.prices, quantity, request.currency);
    const licenseId = await checkLicense(versioned, request);
    return quoteOf(sealer, versioned, { amount, quantity, customerId, licenseId, buyer });
  };
}

function purchaseInvalid(message: string): HubError {
  return new HubError('purchase_invalid', message, { field: 'licenseId' });
}

/** The function resolves with `none` or `several` unless exactly one offer names the price. */
export function createQuoteCatalog({ db, sealer, offers }: QuoteOptions) {
  return async (purchase: CatalogPurchase): Promise<Quote | 'none' | 'several'> => {
    const { gateway, price, amount, quantity } = purchase;
    const [offer, other] = await findOffersOfPrice(db.pool, { gateway, price });
    if (offer === undefined) return 'none';
    if (other !== undefined) return 'several';
    const buyer = { ...purchase.buyer, callerApps: undefined };
    const noIds = { customerId: undefined, licenseId: null };
    return quoteOf(sealer, await offers.get(offer), { amount, quantity, ...noIds, buyer });
  };
}

type Priced = Pick<PurchaseRequest, 'quantity' | 'customerId'> & {
  readonly amount: Money;
  readonly licenseId: string | null;
  readonly buyer: Buyer;
};

function quoteOf(sealer: Sealer, { offer, version }: VersionedOffer, priced: Priced): Quote {
  const { amount, quantity, customerId, licenseId, buyer } = priced;
  return {
    amount,
    offer: formatOfferRef(offer),
    quantity,
    async insert(client, sessionId, { actor, now }) {
      const { name, email, callerApps: apps } = buyer;
      const inline = { name, email: email || undefined };
      const options = { sealer, actor, now, apps };
      const customer =
        customerId !== undefined
          ? await lockCustomerForShare(client, customerId)
          : name || email
            ? await findOrCreateCustomer(client, inline, options)
            : null;
      await client.query({
        name: 'insert_purchase',
        text: `insert into purchase (session_id, offer_version_id, quantity, customer_id, license_id)
               values ($1, $2, $3, $4, $5)`,
        values: [sessionId, version.id, quantity, customer, licenseId],
      });
    },
  };
}
