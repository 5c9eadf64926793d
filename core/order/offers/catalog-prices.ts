// Checks the prices in catalogs of providers that an offer names, and finds the offer of a price.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Pool } from 'pg';
import type { OfferTerms } from '../../../gen/hub/order/v1/order_pb.ts';
import { type HubError, offerInvalid } from '../../errors.ts';
import { DRIVERS } from '../../payment/providers/registry.ts';
import type { CatalogPrice } from '../entities.ts';
import type { Grant } from './grant.ts';

/** @throws HubError `offer_invalid` */
export async function checkCatalogPrices(
  em: EntityManager,
  messages: OfferTerms['catalogPrices'],
  { kind }: Grant,
  offerId: string | undefined,
): Promise<readonly CatalogPrice[]> {
  if (messages.length === 0) return [];
  if (kind !== 'license')
    throw invalid('only offers of new licenses can name prices: a purchase at the provider names no license');
  const sorted = messages
    .map(({ gateway, price }) => ({ gateway, price }))
    .sort((one, other) => (textOf(one) < textOf(other) ? -1 : 1));
  for (const [index, each] of sorted.entries()) {
    const catalog = DRIVERS.find(({ gateway }) => gateway === each.gateway)?.catalog;
    if (catalog === undefined)
      throw invalid(`${JSON.stringify(each.gateway)} is not a gateway with a catalog of prices`);
    const { pattern, example } = catalog.priceIds;
    if (!pattern.test(each.price))
      throw invalid(`${JSON.stringify(each.price)} is not the id of a price: write one such as ${example}`);
    const before = sorted[index - 1];
    if (before !== undefined && textOf(before) === textOf(each))
      throw invalid(`${each.price} is named twice`);
  }
  await checkPricesAreFree(em, sorted, offerId, 'terms.catalogPrices');
  return sorted;
}

/**
 * @param offerId the offer that is to name the prices, if it exists
 * @param field the field of the request, for the error
 * @throws HubError `offer_invalid` if another offer that is for sale names one of the prices
 */
export async function checkPricesAreFree(
  em: EntityManager,
  prices: readonly CatalogPrice[],
  offerId: string | undefined,
  field: string,
): Promise<void> {
  for (const each of prices) {
    const others = await em
      .getConnection()
      .execute<{ id: string; offer: string }[]>(
        OFFERS_OF_PRICE.replaceAll(/\$\d/g, '?'),
        [JSON.stringify([each])],
        'all',
        em.getTransactionContext(),
      );
    const other = others.find(({ id }) => id !== offerId);
    if (other !== undefined)
      throw offerInvalid(field, `the offer ${other.offer} names ${each.price} already`);
  }
}

/** The offers that name a price. Several offers name a price only after concurrent changes. */
export async function findOffersOfPrice(pool: Pool, price: CatalogPrice): Promise<readonly string[]> {
  const { rows } = await pool.query<{ offer: string }>({
    name: 'offer_of_price',
    text: OFFERS_OF_PRICE,
    values: [JSON.stringify([price])],
  });
  return rows.map(({ offer }) => offer);
}

/** Offers that are not archived, as `app/slug`. There are few offers, so no index is needed. */
const OFFERS_OF_PRICE = `
select o.id, a.slug || '/' || o.slug as offer
from offer o join offer_version v on v.offer_id = o.id and v.version = o.version join app a on a.id = o.app_id
where v.catalog_prices @> $1::jsonb and o.archived_at is null`;

function textOf({ gateway, price }: CatalogPrice): string {
  return `${gateway} ${price}`;
}

function invalid(message: string): HubError {
  return offerInvalid('terms.catalogPrices', message);
}
