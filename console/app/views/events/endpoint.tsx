// One endpoint: its settings, its state, its deliveries, and what the caller may do with it.

import type { Endpoint } from '../../../../gen/hub/event/v1/event_pb.ts';
import { DELIVERY_STATES, numberOf } from '../../../../lib/presentation/enum-names.ts';
import { Facts } from '../../components/facts.tsx';
import { ShortId, WholeId } from '../../components/ids.tsx';
import { LivePage, Section } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { StateTabs } from '../../components/tabs.tsx';
import { DeliveryTable } from '../../events/delivery-table.tsx';
import { EndpointActions } from '../../events/endpoint-actions.tsx';
import { EndpointBadge, eventsText, scopeText } from '../../events/endpoint-state.tsx';
import { useKept } from '../../forms/search.ts';
import { useLive } from '../../poll-hub.ts';
import { useRoute } from '../../route.ts';
import { useSignedIn } from '../../sign-in-state.ts';

const TABS = [
  ['', 'All', 'This endpoint has no deliveries yet.'],
  ['failed', 'Failed', 'No delivery has failed.'],
  ['pending', 'Pending', 'No delivery is pending.'],
] as const;

export function EndpointView({ id }: { readonly id: string }) {
  const { hub } = useSignedIn();
  const { state = '', after: pageToken = '' } = useRoute().query;
  const [, , empty] = TABS.find(([name]) => name === state) ?? TABS[0];
  const live = useKept(
    useLive(JSON.stringify([id, state, pageToken]), 5_000, async (signal) => {
      const request = { endpointId: id, state: numberOf(DELIVERY_STATES, state), pageToken };
      const [{ endpoint }, page] = await Promise.all([
        hub.events.getEndpoint({ endpointId: id }, { signal }),
        hub.events.listDeliveries(request, { signal }),
      ]);
      if (endpoint === undefined) throw new Error('the hub returned no endpoint');
      return { endpoint, page };
    }),
  );
  return (
    <LivePage
      title="Endpoint"
      live={live}
      beside={({ endpoint }) => <EndpointBadge endpoint={endpoint} />}
      actions={({ endpoint }) => <EndpointActions endpoint={endpoint} />}
    >
      {({ endpoint, page }) => (
        <>
          <EndpointFacts endpoint={endpoint} />
          <Section title="Deliveries">
            <StateTabs tabs={TABS} state={state} />
            <div class={live.isOutdated ? 'outdated' : ''} aria-busy={live.isOutdated}>
              <DeliveryTable
                caption="Deliveries"
                deliveries={page.deliveries}
                empty={empty}
                first={[
                  { title: 'Event', cell: ({ eventId, type }) => <ShortId id={eventId} text={type} /> },
                ]}
              />
              <Pager next={page.nextPageToken} isOutdated={live.isOutdated} />
            </div>
          </Section>
        </>
      )}
    </LivePage>
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
        ['Created', endpoint.createdAt],
        ['Failing since', failingSince],
        ['Disabled', disabledAt],
        ['Why disabled', endpoint.disabledReason],
        ['Old secret signs until', previousSecretUntil],
      ]}
    />
  );
}
