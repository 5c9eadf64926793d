// The terms of offers: checks those of requests, compares versions, and describes them for the audit log.
import { isDeepStrictEqual } from 'node:util';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { OfferTerms, RefundPolicy } from '../../../gen/hub/order/v1/order_pb.ts';
import { nameOf, REFUND_POLICIES } from '../../../lib/presentation/enum-names.ts';
import { offerInvalid } from '../../errors.ts';
import { findLimitProfile } from '../../license/admin/limit-profiles.ts';
import type { App } from '../../license/entities.ts';
import type { Slot } from '../../payment/entities.ts';
import { findSlot } from '../../payment/slots/slot-admin.ts';
import type { CatalogPrice, OfferVersion, RefundPolicyName } from '../entities.ts';
import { checkCatalogPrices } from './catalog-prices.ts';
import { type Grant, grantFromProto } from './grant.ts';
import { type Prices, pricesFromProto } from './prices.ts';

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
    const message = 'the page of the hub sells new licenses only: leave out the slot';
    throw offerInvalid('terms.pageSlot', message);
  }
  if (downloadUrl !== '' && !/^https?:$/.test(URL.parse(downloadUrl)?.protocol ?? '')) {
    throw offerInvalid('terms.downloadUrl', 'write an address that begins with https:// or http://');
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

/** The policies that suit each kind of grant; the first is the default. */
const POLICIES: Readonly<Record<Grant['kind'], readonly [RefundPolicyName, ...RefundPolicyName[]]>> = {
  license: ['suspend', 'revoke', 'keep'],
  renewal: ['undo', 'keep'],
  seats: ['undo', 'keep'],
};

/** @throws HubError `offer_invalid` for a policy that does not suit the grant */
function refundPolicyFromProto(policy: RefundPolicy, kind: Grant['kind']): RefundPolicyName {
  const suitable = POLICIES[kind];
  const name = nameOf(REFUND_POLICIES, policy) ?? suitable[0];
  if (suitable.includes(name)) return name;
  const choices = suitable.join(' or ');
  throw offerInvalid('terms.onRefund', `on a refund of ${GRANT_NAMES[kind]}, choose ${choices}`);
}

const GRANT_NAMES = { license: 'new licenses', renewal: 'a renewal', seats: 'more seats' } as const;

/** @throws HubError `offer_invalid` if the kind of the grant changes */
export function checkSameGrant(before: Terms, after: Terms): void {
  const [from, to] = [before.grant.kind, after.grant.kind];
  if (from === to) return;
  const [was, is] = [GRANT_NAMES[from], GRANT_NAMES[to]];
  throw offerInvalid('terms', `the offer grants ${was}: create another offer for ${is}`);
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
