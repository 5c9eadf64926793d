// The terms of offers: checks those of requests, compares versions, and describes them for the audit log.
import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { OfferTerms } from '../../../gen/hub/order/v1/order_pb.ts';
import { HubError } from '../../errors.ts';
import { findLimitProfile } from '../../license/admin/limit-profiles.ts';
import type { App } from '../../license/entities.ts';
import type { Slot } from '../../payment/entities.ts';
import { findSlot } from '../../payment/slots/slot-admin.ts';
import type { CatalogPrice, OfferVersion, RefundPolicyName } from '../entities.ts';
import { checkCatalogPrices } from './catalog-prices.ts';
import { type Grant, grantFromProto } from './grant.ts';
import { type Prices, pricesFromProto } from './prices.ts';
import { refundPolicyFromProto } from './refund-policy.ts';

/** The checked terms of a version. */
export type Terms = {
  readonly name: string;
  readonly prices: Prices;
  readonly grant: Grant;
  readonly pageSlot: Slot | null;
  readonly downloadUrl: string;
  readonly onRefund: RefundPolicyName;
  readonly catalogPrices: readonly CatalogPrice[];
};

/**
 * Checks the terms of a request, for an offer that exists or for a new one.
 *
 * @throws HubError `offer_invalid`, `amount_invalid`, `period_invalid`, `signed_metadata_invalid`,
 * `limit_profile_unknown`, `slot_unknown`
 */
export async function checkTerms(
  em: EntityManager,
  app: App,
  terms: OfferTerms,
  offerId?: string,
): Promise<Terms> {
  const prices = pricesFromProto(terms.prices);
  const grant = await grantFromProto(terms, async (profile) => {
    const { id, name } = await findLimitProfile(em, app, profile);
    return { id, name };
  });
  const { name, pageSlot, downloadUrl } = terms;
  if (pageSlot !== '' && grant.kind !== 'license') {
    throw new HubError('offer_invalid', 'the page of the hub sells new licenses only: leave out the slot', {
      field: 'terms.pageSlot',
    });
  }
  if (downloadUrl !== '' && !/^https?:$/.test(URL.parse(downloadUrl)?.protocol ?? '')) {
    throw new HubError('offer_invalid', 'write an address that begins with https:// or http://', {
      field: 'terms.downloadUrl',
    });
  }
  return {
    name,
    prices,
    grant,
    pageSlot: pageSlot === '' ? null : await findSlot(em, pageSlot),
    downloadUrl,
    onRefund: refundPolicyFromProto(terms.onRefund, grant.kind),
    catalogPrices: await checkCatalogPrices(em, terms.catalogPrices, grant, offerId),
  };
}

/** The terms of a stored version. Requires a populated slot. */
export function termsOf(version: OfferVersion): Terms {
  const { name, prices, granted, pageSlot, downloadUrl, onRefund, catalogPrices } = version;
  return {
    name,
    prices,
    grant: granted,
    pageSlot: (pageSlot as Slot | null | undefined) ?? null,
    downloadUrl,
    onRefund,
    catalogPrices,
  };
}

const GRANT_NAMES = { license: 'new licenses', renewal: 'a renewal', seats: 'more seats' } as const;

/** @throws HubError `offer_invalid` if the kind of the grant changes */
export function checkSameGrant(before: Terms, after: Terms): void {
  const [from, to] = [before.grant.kind, after.grant.kind];
  if (from === to) return;
  const message = `the offer grants ${GRANT_NAMES[from]}: create another offer for ${GRANT_NAMES[to]}`;
  throw new HubError('offer_invalid', message, { field: 'terms' });
}

export function isSameTerms(one: Terms, other: Terms): boolean {
  const comparable = ({ pageSlot, ...terms }: Terms) => ({ ...terms, pageSlot: pageSlot?.name });
  return isDeepStrictEqual(comparable(one), comparable(other));
}

/** The terms for the audit log. It gets only the names of metadata: a value may be personal. */
export function factsOf({ grant, pageSlot, ...terms }: Terms) {
  const { kind, ...granted } = grant;
  return {
    ...terms,
    grants: kind,
    ...granted,
    ...('metadata' in granted && { metadata: Object.keys(granted.metadata) }),
    pageSlot: pageSlot?.name ?? '',
  };
}
