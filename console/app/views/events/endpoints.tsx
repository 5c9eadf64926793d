// The endpoints, newest first.
import { EventService } from '../../../../gen/hub/event/v1/event_service_pb.ts';
import { Loaded } from '../../components/loaded.tsx';
import { Page } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { Moment } from '../../components/timestamp.tsx';
import { AddEndpoint } from '../../events/endpoint-form.tsx';
import { EndpointState, eventsText, scopeText } from '../../events/endpoint-state.tsx';
import { useLive } from '../../live.ts';
import { canCall } from '../../permissions.ts';
import { linkTo } from '../../route.ts';
import type { SignedIn } from '../../signed-in.ts';

const EVERY_MS = 10_000;

export function EndpointsView({ who }: { readonly who: SignedIn }) {
  const live = useLive('endpoints', EVERY_MS, (signal) => who.hub.events.listEndpoints({}, { signal }));
  const mayAdd = canCall(who.caller, EventService.method.createEndpoint);
  return (
    <Page title="Endpoints" actions={mayAdd && <AddEndpoint who={who} onDone={live.refresh} />}>
      <Loaded live={live}>
        {({ endpoints }) => (
          <Table
            caption="Endpoints"
            rows={endpoints}
            keyOf={({ endpointId }) => endpointId}
            empty="There is no endpoint, so the hub delivers no events."
            columns={[
              {
                title: 'Endpoint',
                kind: 'long',
                cell: ({ endpointId, url, description }) => (
                  <>
                    <a class="id" href={linkTo(['endpoints', endpointId])} title={endpointId}>
                      {url}
                    </a>
                    {description !== '' && <div class="muted">{description}</div>}
                  </>
                ),
              },
              { title: 'State', cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
              {
                title: 'Events',
                kind: 'long',
                wide: true,
                cell: (endpoint) => <span class="value">{eventsText(endpoint)}</span>,
              },
              {
                title: 'Limited to',
                wide: true,
                cell: (endpoint) => <span class="value">{scopeText(endpoint)}</span>,
              },
              { title: 'Created', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
            ]}
          />
        )}
      </Loaded>
    </Page>
  );
}
