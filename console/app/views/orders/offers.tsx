// Offers, newest first.
import { OfferService } from '../../../../gen/hub/order/v1/offer_service_pb.ts';
import { grantText, summarizeGrant } from '../../../../lib/presentation/order-text.ts';
import { Filters } from '../../components/filters.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { scopeFilter, useApps } from '../../components/scope-filters.ts';
import { Table } from '../../components/table.tsx';
import { useLive } from '../../live.ts';
import { CreateOffer } from '../../orders/offer-form.tsx';
import { OfferBadge, Prices } from '../../orders/offer-text.tsx';
import { canCall } from '../../permissions.ts';
import { linkTo, useRoute } from '../../route.ts';
import type { SignedIn } from '../../signed-in.ts';

const EVERY_MS = 15_000;

const SHOWN = [
  ['', 'for sale'],
  ['all', 'archived ones too'],
] as const;

export function OffersView({ who }: { readonly who: SignedIn }) {
  const { query } = useRoute();
  const apps = useApps(who);
  const { shown = '', after = '' } = query;
  const app = query['app'] ?? apps.only;
  const live = useLive(JSON.stringify([app, shown, after]), EVERY_MS, (signal) =>
    who.hub.offers.listOffers(
      { ...(app && { app }), includeArchived: shown === 'all', pageToken: after },
      { signal },
    ),
  );
  const mayCreate = canCall(who.caller, OfferService.method.createOffer);
  return (
    <Page title="Offers" actions={mayCreate && <CreateOffer who={who} apps={apps.names} app={app} />}>
      <Filters
        filters={[scopeFilter('app', 'App', apps), { name: 'shown', label: 'Offers', choices: SHOWN }]}
      />
      <Loaded live={live}>
        {({ offers, nextPageToken }) => (
          <>
            <Table
              caption="Offers"
              rows={offers}
              keyOf={({ offerId }) => offerId}
              empty="There is no such offer."
              columns={[
                {
                  title: 'Offer',
                  kind: 'long',
                  cell: ({ offerId, app: of, slug, terms }) => (
                    <>
                      <a href={linkTo(['offers', offerId])}>
                        {of}/{slug}
                      </a>
                      <div class="muted">{terms?.name}</div>
                    </>
                  ),
                },
                { title: 'State', cell: (offer) => <OfferBadge offer={offer} /> },
                {
                  title: 'Price',
                  kind: 'number',
                  cell: ({ terms }) => <Prices prices={terms?.prices ?? []} />,
                },
                {
                  title: 'Grants',
                  kind: 'long',
                  wide: true,
                  cell: ({ terms }) => terms && grantText(summarizeGrant(terms.grant)),
                },
                { title: 'Version', kind: 'number', wide: true, cell: ({ version }) => version },
                { title: 'Page', wide: true, cell: ({ terms }) => terms?.pageSlot },
              ]}
            />
            <Pager next={nextPageToken} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
