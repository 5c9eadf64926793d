// JSON schema and columns of offers.
import type { Offer, OfferTerms } from '../../../gen/hub/order/v1/order_pb.ts';
import { REFUND_POLICIES } from '../../../lib/presentation/enum-names.ts';
import { type GrantSummary, grantText, summarizeGrant } from '../../../lib/presentation/order-text.ts';
import { requireField } from '../../connect/calls.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { limitNumbers, limitsText, pairsText, shortTime } from '../cells.ts';
import { PERIOD } from '../licensing/license.ts';
import { MONEY, moneyText } from '../payments/money.ts';
import * as json from '../schema.ts';

/** What an offer can grant. */
export const GRANTS = ['license', 'renewal', 'seats'] as const;
export type GrantName = (typeof GRANTS)[number];

export const OFFER = json.view(
  'Offer',
  { message: 'hub.order.v1.Offer', without: ['terms'] },
  {
    offerId: json.id('ofr'),
    app: json.text(),
    slug: json.text(),
    version: json.integer(),
    name: json.text('name that customers see'),
    prices: json.list(MONEY, 'the price of one unit in each currency'),
    grants: json.oneOf(
      [...GRANTS, 'unknown'],
      'what an order grants: new licenses, the renewal of a license, or more seats',
    ),
    seats: json.optional(
      json.integer(
        'of a new license: its seats, -1 is unlimited, missing for the default of the app; otherwise the seats that a unit adds',
      ),
    ),
    limits: json.optional(json.limits("a new license's own limits")),
    limitProfile: json.optional(json.text('limit profile of a new license')),
    features: json.optional(json.list(json.text(), 'features of a new license')),
    validFor: json.optional({
      ...PERIOD,
      description: 'validity of a new license from its first activation',
    }),
    graceDays: json.optional(
      json.integer(
        'days that a new license stays valid after its expiry; missing for the default of the app',
      ),
    ),
    leaseDays: json.optional(
      json.integer(
        'days that a signed license is valid without contacting the hub, 0 for no bound; missing for the default of the app',
      ),
    ),
    metadata: json.optional(json.map(json.text(), "the vendor's own data of a new license")),
    signedMetadata: json.optional(json.list(json.text(), 'entries of metadata that signed licenses contain')),
    by: json.optional({ ...PERIOD, description: 'the period by which a unit renews' }),
    pageSlot: json.optional(
      json.text("slot through which the hub's own page sells it; missing if it does not"),
    ),
    downloadUrl: json.optional(json.text('where customers download the app')),
    onRefund: json.word(REFUND_POLICIES, 'what a full refund or a reversal does with the licenses'),
    catalogPrices: json.list(
      json.view('CatalogPrice', 'hub.order.v1.CatalogPrice', { gateway: json.text(), price: json.text() }),
      "prices of providers' catalogs whose purchases outside the hub it grants",
    ),
    createdAt: json.time(),
    versionCreatedAt: json.time(),
    archivedAt: json.optional(json.time('when it was archived; missing while it is for sale')),
  },
);
export type OfferView = json.ValueOf<typeof OFFER>;

export function offerView(offer: Offer | undefined): OfferView {
  const terms = requireField(offer?.terms, 'terms');
  return json.viewOf(OFFER, { ...terms, ...offer }, grantView(terms.grant));
}

type GrantView = json.Own<
  Pick<OfferView, 'grants' | 'seats' | 'limits' | 'limitProfile' | 'features' | 'validFor' | 'by'> &
    Pick<OfferView, 'graceDays' | 'leaseDays' | 'metadata' | 'signedMetadata'>
>;

function grantView(grant: OfferTerms['grant']): GrantView {
  const summary = summarizeGrant(grant);
  if (grant.case !== 'license') return summary;
  const { limits, limitProfile, features, graceDays, leaseDays, metadata, signedMetadata } = grant.value;
  return {
    ...summary,
    limits: limitNumbers(limits),
    limitProfile: limitProfile || undefined,
    features,
    graceDays,
    leaseDays,
    metadata,
    signedMetadata,
  };
}

export const OFFER_FIELDS: readonly Column<OfferView>[] = [
  { title: 'Offer', cell: ({ app, slug }) => `${app}/${slug}` },
  ...columnsOf(OFFER, { offerId: 'Id' }, 'name'),
  { title: 'State', cell: ({ archivedAt }) => (archivedAt === undefined ? 'for sale' : 'archived') },
  { title: 'Price', cell: ({ prices }) => prices.map(moneyText).join(', ') },
  { title: 'Grants', cell: grantOf },
  { title: 'Profile', cell: (item) => item.limitProfile },
  { title: 'Limits', cell: (item) => item.limits && limitsText(item.limits) },
  { title: 'Features', cell: (item) => item.features?.join(' ') },
  ...columnsOf(OFFER, 'graceDays', 'leaseDays'),
  { title: 'Metadata', cell: (item) => item.metadata && pairsText(item.metadata) },
  { title: 'Signed', cell: (item) => item.signedMetadata?.join(' ') },
  { title: 'Page', cell: (item) => item.pageSlot && `sold through ${item.pageSlot}` },
  ...columnsOf(OFFER, { downloadUrl: 'Download' }, 'onRefund'),
  {
    title: 'Catalog',
    cell: (item) => item.catalogPrices.map(({ gateway, price }) => `${gateway} ${price}`).join(', '),
  },
  { title: 'Version', cell: (item) => `${item.version}, since ${shortTime(item.versionCreatedAt)}` },
  ...columnsOf(OFFER, 'createdAt', 'archivedAt'),
];

export const OFFER_COLUMNS: readonly Column<OfferView>[] = [
  ...pick(OFFER_FIELDS, 'Offer', 'Name', 'Price', 'Grants'),
  ...columnsOf(OFFER, 'onRefund', 'version', { pageSlot: 'Page' }),
  ...pick(OFFER_FIELDS, 'State'),
];

function grantOf({ grants, seats, validFor, by }: OfferView): string {
  return grantText({ grants, seats, validFor, by } as GrantSummary); // a view has the members of its kind
}
