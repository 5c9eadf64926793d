// Offers, newest first.

import type { Offer } from '../../../../gen/hub/order/v1/order_pb.ts';
import { omitEmpty } from '../../../../lib/presentation/omit-empty.ts';
import { grantText, summarizeGrant } from '../../../../lib/presentation/order-text.ts';
import { ListPage } from '../../components/list-page.tsx';
import { scopeFilter, useApps } from '../../components/scope-filters.ts';
import { type Column, Table } from '../../components/table.tsx';
import { CreateOffer } from '../../orders/offer-form.tsx';
import { OfferBadge, Prices } from '../../orders/offer-text.tsx';
import { linkTo } from '../../route.ts';
import { useSignedIn } from '../../sign-in-state.ts';

const SHOWN = [
  ['', 'for sale'],
  ['all', 'archived ones too'],
] as const;

export function OffersView() {
  const { hub, may } = useSignedIn();
  const apps = useApps();
  return (
    <ListPage
      title="Offers"
      everyMs={15_000}
      filters={[scopeFilter('app', 'App', apps), { name: 'shown', label: 'Offers', choices: SHOWN }]}
      load={({ query: { app, shown }, pageToken }, options) => {
        const filter = { ...omitEmpty({ app }), includeArchived: shown === 'all' };
        return hub.offers.listOffers({ ...filter, pageToken }, options);
      }}
      actions={() => may('offers.createOffer') && <CreateOffer apps={apps} />}
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
