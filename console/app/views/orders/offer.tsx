// One offer: the terms of a version, and what the caller may do with it.

import type { LicenseGrant, Offer, OfferTerms } from '../../../../gen/hub/order/v1/order_pb.ts';
import { REFUND_POLICIES, wordFor } from '../../../../lib/presentation/enum-names.ts';
import { grantText, summarizeGrant } from '../../../../lib/presentation/order-text.ts';
import { Facts, pairFacts } from '../../components/facts.tsx';
import { WholeId } from '../../components/ids.tsx';
import { LivePage } from '../../components/page.tsx';
import { limitsText } from '../../components/values.tsx';
import { OfferActions } from '../../orders/offer-actions.tsx';
import { OfferBadge, Prices } from '../../orders/offer-text.tsx';
import { refundChoices } from '../../orders/offer-values.ts';
import { useLive } from '../../poll-hub.ts';
import { linkTo, useRoute } from '../../route.ts';
import { useSignedIn } from '../../sign-in-state.ts';

export function OfferView({ id }: { readonly id: string }) {
  const { hub } = useSignedIn();
  const wantedVersion = Number(/^\d{1,9}$/.exec(useRoute().query['version'] ?? '')?.[0] ?? 0);
  const live = useLive(`${id} ${wantedVersion}`, 15_000, async (signal) => {
    const get = (version: number) => hub.offers.getOffer({ offer: id, version }, { signal });
    const [{ offer: current }, { offer: shown }] = await Promise.all([get(0), get(wantedVersion)]);
    if (current === undefined || shown === undefined) throw new Error('the hub returned no offer');
    return { current, shown };
  });
  return (
    <LivePage
      title="Offer"
      live={live}
      beside={({ current }) => <OfferBadge offer={current} />}
      actions={({ current }) => <OfferActions offer={current} />}
    >
      {({ current, shown }) => (
        <>
          <p class="lead">{shown.terms?.name}</p>
          <OfferFacts offer={shown} />
          <Versions shown={shown.version} newest={current.version} id={id} />
        </>
      )}
    </LivePage>
  );
}

type VersionsProps = { readonly shown: number; readonly newest: number; readonly id: string };

function Versions({ shown, newest, id }: VersionsProps) {
  if (newest === 1) return null;
  const link = (version: number): string =>
    linkTo(['offers', id], version === newest ? {} : { version: String(version) });
  return (
    <nav class="pager" aria-label="Versions">
      {shown > 1 ? <a href={link(shown - 1)}>← Version {shown - 1}</a> : <span />}
      {shown < newest && <a href={link(shown + 1)}>Version {shown + 1} →</a>}
    </nav>
  );
}

function OfferFacts({ offer }: { readonly offer: Offer }) {
  const { app, slug, terms } = offer;
  if (terms === undefined) return null;
  const { grant, pageSlot } = terms;
  return (
    <Facts
      facts={[
        ['Offer', `${app}/${slug}`],
        ['Id', <WholeId key="id" id={offer.offerId} />],
        ['Version', offer.version],
        ['Price of one unit', <Prices key="prices" prices={terms.prices} />],
        ['Grants', grantText(summarizeGrant(grant))],
        ...(grant.case === 'license' ? licenseFacts(grant.value) : []),
        ['Sold on the hub’s own page', pageSlot && `through ${pageSlot}`],
        ['Download', terms.downloadUrl && <code>{terms.downloadUrl}</code>],
        ['On a refund', refundText(terms)],
        [
          'Prices at providers',
          terms.catalogPrices.map(({ gateway, price }) => `${gateway}: ${price}`).join(', '),
        ],
        ['Created', offer.createdAt],
        ['This version since', offer.versionCreatedAt],
        ['Archived', offer.archivedAt],
      ]}
    />
  );
}

function refundText({ grant, onRefund }: OfferTerms): string {
  const choices = refundChoices(grant.case ?? '');
  const policy = wordFor(REFUND_POLICIES, onRefund);
  return choices.find(([name]) => name === policy)?.[1] ?? choices[0]?.[1] ?? '';
}

function licenseFacts(grant: LicenseGrant) {
  const { limitProfile, limits, features, graceDays, leaseDays, metadata, signedMetadata } = grant;
  return [
    ['Limit profile', limitProfile],
    ['Own limits', Object.keys(limits).length > 0 && limitsText(limits)],
    ['Features', features.join(', ')],
    ['Grace in days', graceDays],
    ['Offline lease in days', leaseDays === 0 ? 'no bound' : leaseDays],
    ...pairFacts(metadata, 'Metadata: '),
    ['Signed metadata', signedMetadata.join(', ')],
  ] as const;
}
