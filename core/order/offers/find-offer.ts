// Finds offers by `app/slug` or by identifier, and reads and writes such references.
import type { EntityManager } from '@mikro-orm/postgresql';
import { HubError } from '../../errors.ts';
import { parseId } from '../../ids.ts';
import { isResourceName } from '../../resource-name.ts';
import { type Offer, OfferSchema } from '../entities.ts';

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

/** An offer by its UUID, or by the slug of its app and its own. */
type OfferRef = { readonly id: string } | { readonly app: string; readonly slug: string };

/** Undefined for a text that cannot name an offer. */
export function parseOfferRef(text: string): OfferRef | undefined {
  const id = parseId('ofr', text);
  if (id !== undefined) return { id };
  const [app = '', slug = '', ...rest] = text.split('/');
  if (!isResourceName(app) || !isResourceName(slug) || rest.length > 0) return undefined;
  return { app, slug };
}

/** `app/slug` */
export function formatOfferRef({ app, slug }: Pick<Offer, 'app' | 'slug'>): string {
  return `${app.slug}/${slug}`;
}
