// The references of offers in requests and responses: `app/slug`, or an identifier in a request.
import { parseId } from '../../ids.ts';
import { isResourceName } from '../../resource-name.ts';
import type { Offer } from '../entities.ts';

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
