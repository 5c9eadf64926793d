// Finds offers by `app/slug` or by identifier.
import type { EntityManager, FilterQuery } from '@mikro-orm/postgresql';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { isResourceName } from '../../resource-name.ts';
import { type Offer, OfferSchema } from '../entities.ts';

/** An offer with its app. @throws HubError `offer_unknown` */
export async function findOffer(em: EntityManager, offer: string): Promise<Offer> {
  const where = conditionOf(offer);
  const found = where && (await em.findOne(OfferSchema, where, { populate: ['app'] }));
  if (found) return found;
  throw offerUnknown();
}

/** Undefined for a text that cannot name an offer. */
function conditionOf(offer: string): FilterQuery<Offer> | undefined {
  const id = parseId('ofr', offer);
  if (id !== undefined) return { id };
  const [app = '', slug = '', ...rest] = offer.split('/');
  if (!isResourceName(app) || !isResourceName(slug) || rest.length > 0) return undefined;
  return { app: { slug: app }, slug };
}

export function offerUnknown(): HubError {
  return new HubError(
    'offer_unknown',
    'there is no such offer: name it as app/slug or by its ofr_ identifier',
    {
      field: 'offer',
    },
  );
}
