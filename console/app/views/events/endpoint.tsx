// One endpoint: its settings, its state, its deliveries, and what the caller may do with it.
import type { Endpoint } from '../../../../gen/hub/event/v1/event_pb.ts';
import { DELIVERY_STATES, numberOf } from '../../../../lib/presentation/words.ts';
import { Facts } from '../../components/facts.tsx';
import { WholeId } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { Moment } from '../../components/timestamp.tsx';
import { DeliveryTable } from '../../events/delivery-table.tsx';
import { EndpointActions } from '../../events/endpoint-actions.tsx';
import { EndpointBadge, eventsText, scopeText } from '../../events/endpoint-state.tsx';
import { useKept } from '../../forms/search.ts';
import { useLive } from '../../live.ts';
import { linkTo, useRoute } from '../../route.ts';
import type { SignedIn } from '../../signed-in.ts';

const EVERY_MS = 5_000;

const TABS = [
  ['', 'All', 'This endpoint has no deliveries yet.'],
  ['failed', 'Failed', 'No delivery has failed.'],
  ['pending', 'Pending', 'No delivery is pending.'],
] as const;

export function EndpointView({ who, id }: { readonly who: SignedIn; readonly id: string }) {
  const { state = '', after = '' } = useRoute().query;
  const [, , empty] = TABS.find(([name]) => name === state) ?? TABS[0];
  const live = useKept(
    useLive(JSON.stringify([id, state, after]), EVERY_MS, async (signal) => {
      const request = { endpointId: id, state: numberOf(DELIVERY_STATES, state), pageToken: after };
      const [{ endpoint }, page] = await Promise.all([
        who.hub.events.getEndpoint({ endpointId: id }, { signal }),
        who.hub.events.listDeliveries(request, { signal }),
      ]);
      return { endpoint, page };
    }),
  );
  const endpoint = live.data?.endpoint;
  return (
    <Page
      title="Endpoint"
      beside={endpoint && <EndpointBadge endpoint={endpoint} />}
      actions={endpoint && <EndpointActions who={who} endpoint={endpoint} onDone={live.refresh} />}
    >
      <Loaded live={live}>
        {(data) => (
          <>
            {data.endpoint && <EndpointFacts endpoint={data.endpoint} />}
            <section aria-labelledby="deliveries">
              <h2 id="deliveries">Deliveries</h2>
              <nav class="tabs" aria-label="State">
                {TABS.map(([name, title]) => (
                  <a
                    key={name}
                    href={linkTo(['endpoints', id], { state: name })}
                    aria-current={name === state ? 'true' : undefined}
                  >
                    {title}
                  </a>
                ))}
              </nav>
              <div class={live.isOutdated ? 'outdated' : ''} aria-busy={live.isOutdated}>
                <DeliveryTable
                  caption="Deliveries"
                  deliveries={data.page.deliveries}
                  empty={empty}
                  first={[
                    {
                      title: 'Event',
                      cell: ({ eventId, type }) => (
                        <a class="id" href={linkTo(['events', eventId])} title={eventId}>
                          <code>{type}</code>
                        </a>
                      ),
                    },
                  ]}
                />
                <Pager next={data.page.nextPageToken} />
              </div>
            </section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function EndpointFacts({ endpoint }: { readonly endpoint: Endpoint }) {
  const { failingSince, disabledAt, previousSecretUntil } = endpoint;
  return (
    <Facts
      facts={[
        ['Endpoint', <WholeId key="id" id={endpoint.endpointId} />],
        ['URL', endpoint.url],
        ['Events', eventsText(endpoint)],
        ['Limited to', scopeText(endpoint)],
        ['License keys', endpoint.includeKeys ? 'in license.issued' : 'not included'],
        ['Description', endpoint.description],
        ['Created', <Moment key="created" at={endpoint.createdAt} />],
        ['Failing since', failingSince && <Moment key="failing" at={failingSince} />],
        ['Disabled', disabledAt && <Moment key="disabled" at={disabledAt} />],
        ['Why disabled', endpoint.disabledReason],
        ['Old secret signs until', previousSecretUntil && <Moment key="until" at={previousSecretUntil} />],
      ]}
    />
  );
}
