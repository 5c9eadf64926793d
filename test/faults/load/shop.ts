// A shop on a cluster: an app with an offer of each kind, and the licenses that renewals and seats are bought for.
import { hashLicenseKey, normalizeLicenseKey } from '../../../core/license/keys/license-key.ts';
import { RefundPolicy } from '../../../gen/hub/order/v1/order_pb.ts';
import { createApp } from '../../support/hub/license.ts';
import { activate } from '../../support/network/rest.ts';
import { query } from '../../support/postgres/databases.ts';
import type { StartingLicense } from '../model/order-books.ts';
import type { Cluster, HubClients } from '../scenes/cluster.ts';
import type { Bought, OfferOrder } from './payment-fixture.ts';

export type Shop = {
  /** Slug of the app. */
  readonly app: string;
  /** The licenses before the first purchase. */
  readonly licenses: readonly StartingLicense[];
};

export const KINDS = ['license', 'renewal', 'seats'] as const;
export type Kind = (typeof KINDS)[number];

const SEAT_LIMIT = 2;
const YEAR_S = 31_536_000;

/** Offers of licenses that refunds do not suspend, by slug. */
const OTHER_POLICIES = { 'license-revoke': RefundPolicy.REVOKE, 'license-keep': RefundPolicy.KEEP } as const;
const LICENSE_OFFERS = ['license', ...Object.keys(OTHER_POLICIES)];

/** Opens the shop, with offers named after their kinds. */
export async function openShop({ licenses, offers }: HubClients, licenseCount: number): Promise<Shop> {
  const app = await createApp(licenses);
  for (const kind of KINDS) await offers.createOffer({ app, slug: kind, terms: termsOf(kind, 1) });
  for (const [slug, onRefund] of Object.entries(OTHER_POLICIES)) {
    await offers.createOffer({ app, slug, terms: { ...termsOf('license', 1), onRefund } });
  }
  const expiresAt = { seconds: BigInt(Math.floor(Date.now() / 1_000) + YEAR_S), nanos: 0 };
  const issued = await licenses.issueLicenses({ app, seatLimit: SEAT_LIMIT, count: licenseCount, expiresAt });
  return {
    app,
    licenses: issued.licenses.map(({ license }) => ({
      licenseId: license?.licenseId ?? '',
      expiresAtMs: Number(expiresAt.seconds) * 1_000,
      seatLimit: SEAT_LIMIT,
    })),
  };
}

/**
 * The terms of an offer: each version has another price, grants more and takes back otherwise. A renewal is by days,
 * which add up.
 */
export function termsOf(kind: Kind, version: number) {
  const grants = {
    license: { case: 'license', value: { seatLimit: version, validFor: { days: 100 + version } } },
    renewal: { case: 'renewal', value: { by: { days: 10 + version } } },
    seats: { case: 'seats', value: { seats: version } },
  } as const;
  return {
    name: `${kind} ${version}`,
    prices: [{ minorUnits: BigInt(10_000 + version), currency: 'BDT' }],
    grant: grants[kind],
    onRefund: pickPolicy(kind, version),
  };
}

const POLICIES = {
  license: [RefundPolicy.SUSPEND, RefundPolicy.REVOKE, RefundPolicy.KEEP],
  renewal: [RefundPolicy.UNDO, RefundPolicy.UNDO, RefundPolicy.KEEP],
  seats: [RefundPolicy.UNDO, RefundPolicy.UNDO, RefundPolicy.KEEP],
} as const;

/** Each in turn, beginning with the default. */
function pickPolicy(kind: Kind, version: number): RefundPolicy {
  return POLICIES[kind][(version - 1) % 3] ?? RefundPolicy.UNSPECIFIED;
}

/** The offer of a kind: for new licenses, one of each policy of refunds in turn. */
export function slugOf(kind: Kind, turn: number): string {
  return (kind === 'license' ? LICENSE_OFFERS[turn % LICENSE_OFFERS.length] : undefined) ?? kind;
}

/** What a customer puts into the basket. */
export function purchaseOf(
  { app, licenses }: Shop,
  { kind, quantity, turn }: { readonly kind: Kind; readonly quantity: number; readonly turn: number },
): Omit<OfferOrder, 'gateway'> {
  const { licenseId } = licenses[turn % licenses.length] ?? {};
  const customer = { name: `Customer ${turn % 7}`, email: `customer-${turn % 7}@example.com` };
  return { offer: `${app}/${kind}`, quantity, customer, ...(kind !== 'license' && { licenseId }) };
}

/** How many of the shown keys a machine activates. */
const SAMPLE = 10;

/**
 * Keys that the claim tokens of paid sessions do not show, that do not belong to their licenses, or that do not
 * activate. An empty list if there are none.
 */
export async function keyTrouble(
  { databaseUrl, gateways }: Cluster,
  { orders }: HubClients,
  bought: readonly Bought[],
): Promise<string[]> {
  const stored = new Map(
    (
      await query<{ hash: string; replaced: boolean }>(
        databaseUrl,
        `select encode(key_hash, 'hex') as hash, key_generation > 1 as replaced from license`,
      )
    ).map(({ hash, replaced }) => [hash, replaced]),
  );
  const trouble: string[] = [];
  const keys: string[] = [];
  for (const { session, claimToken } of bought) {
    const { sessionId } = session;
    const { licenses } = await orders.getClaimedOrder({ sessionId, claimToken });
    for (const { licenseKey } of licenses.filter((each) => each.licenseKey !== '')) {
      keys.push(licenseKey);
      const hash = hashLicenseKey(normalizeLicenseKey(licenseKey) ?? '').toString('hex');
      if (!stored.has(hash)) trouble.push(`a key of ${sessionId} belongs to no license`);
    }
  }
  const [issued] = await query<{ count: number }>(
    databaseUrl,
    `select count(*)::int as count from order_license o join license l on l.id = o.license_id
       join sales_order s on s.id = o.order_id
     where o.issued and l.key_generation = 1 and s.state <> 'refunded'`,
  );
  if (new Set(keys).size !== issued?.count) {
    trouble.push(`${new Set(keys).size} keys are shown, for ${issued?.count} licenses`);
  }
  const step = Math.max(1, Math.floor(keys.length / SAMPLE));
  for (const key of keys.filter((_, index) => index % step === 0)) {
    const { status, body } = await activate(gateways()[0] ?? '', key, 'machine');
    if (status !== 200) trouble.push(`a sold key is not activated: ${JSON.stringify(body)}`);
  }
  return trouble;
}
