// Finds offers by `app/slug` or by identifier.
import type { EntityManager } from '@mikro-orm/postgresql';
import { HubError } from '../../errors.ts';
import { type Offer, OfferSchema } from '../entities.ts';
import { parseOfferRef } from './offer-ref.ts';

/** An offer with its app. @throws HubError `offer_unknown` */
export async function findOffer(em: EntityManager, offer: string): Promise<Offer> {
  const ref = parseOfferRef(offer);
  if (ref === undefined) throw offerUnknown();
  const where = 'id' in ref ? ref : { app: { slug: ref.app }, slug: ref.slug };
  const found = await em.findOne(OfferSchema, where, { populate: ['app'] });
  if (found === null) throw offerUnknown();
  return found;
}

export function offerUnknown(): HubError {
  const message = 'there is no such offer: name it as app/slug or by its ofr_ identifier';
  return new HubError('offer_unknown', message, { field: 'offer' });
}
