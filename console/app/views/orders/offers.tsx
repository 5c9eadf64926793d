// Offers, newest first.

import { OfferService } from '../../../../gen/hub/order/v1/offer_service_pb.ts';
import type { Offer } from '../../../../gen/hub/order/v1/order_pb.ts';
import { omitEmpty } from '../../../../lib/presentation/omit-empty.ts';
import { grantText, summarizeGrant } from '../../../../lib/presentation/order-text.ts';
import { ListPage } from '../../components/page.tsx';
import { scopeFilter, useApps } from '../../components/scope-filters.ts';
import { type Column, Table } from '../../components/table.tsx';
import { useList } from '../../list.ts';
import { CreateOffer } from '../../orders/offer-form.tsx';
import { OfferBadge, Prices } from '../../orders/offer-text.tsx';
import { linkTo } from '../../route.ts';
import { useSignedIn } from '../../signed-in.ts';

const EVERY_MS = 15_000;

const SHOWN = [
  ['', 'for sale'],
  ['all', 'archived ones too'],
] as const;

export function OffersView() {
  const { hub, may } = useSignedIn();
  const apps = useApps();
  const live = useList({
    everyMs: EVERY_MS,
    scope: [apps.chosen],
    load: ({ query: { shown }, pageToken }, options) =>
      hub.offers.listOffers(
        { ...omitEmpty({ app: apps.chosen }), includeArchived: shown === 'all', pageToken },
        options,
      ),
  });
  const mayCreate = may(OfferService.method.createOffer);
  return (
    <ListPage
      title="Offers"
      live={live}
      filters={[scopeFilter('app', 'App', apps), { name: 'shown', label: 'Offers', choices: SHOWN }]}
      actions={mayCreate && <CreateOffer apps={apps} />}
    >
      {({ offers }) => (
        <Table
          caption="Offers"
          rows={offers}
          keyOf={({ offerId }) => offerId}
          empty="There is no such offer."
          columns={COLUMNS}
        />
      )}
    </ListPage>
  );
}

const COLUMNS: readonly Column<Offer>[] = [
  {
    title: 'Offer',
    kind: 'long',
    cell: ({ offerId, app, slug, terms }) => (
      <>
        <a href={linkTo(['offers', offerId])}>
          {app}/{slug}
        </a>
        <div class="muted">{terms?.name}</div>
      </>
    ),
  },
  { title: 'State', cell: (offer) => <OfferBadge offer={offer} /> },
  { title: 'Price', kind: 'number', cell: ({ terms }) => <Prices prices={terms?.prices ?? []} /> },
  {
    title: 'Grants',
    kind: 'long',
    wide: true,
    cell: ({ terms }) => terms && grantText(summarizeGrant(terms.grant)),
  },
  { title: 'Version', kind: 'number', wide: true, cell: ({ version }) => version },
  { title: 'Page', wide: true, cell: ({ terms }) => terms?.pageSlot },
];
