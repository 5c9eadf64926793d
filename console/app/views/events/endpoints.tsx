// The endpoints, newest first.

import type { Endpoint } from '../../../../gen/hub/event/v1/event_pb.ts';
import { LivePage } from '../../components/page.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { AddEndpoint } from '../../events/endpoint-form.tsx';
import { EndpointState, eventsText, scopeText } from '../../events/endpoint-state.tsx';
import { useLive } from '../../poll-hub.ts';
import { linkTo } from '../../route.ts';
import { useSignedIn } from '../../sign-in-state.ts';

export function EndpointsView() {
  const { hub, may } = useSignedIn();
  const live = useLive('endpoints', 10_000, (signal) => hub.events.listEndpoints({}, { signal }));
  const mayAdd = may('events.createEndpoint');
  return (
    <LivePage title="Endpoints" live={live} actions={() => mayAdd && <AddEndpoint />}>
      {({ endpoints }) => (
        <Table
          caption="Endpoints"
          rows={endpoints}
          keyOf={({ endpointId }) => endpointId}
          empty="There is no endpoint, so the hub delivers no events."
          columns={COLUMNS}
        />
      )}
    </LivePage>
  );
}

const COLUMNS: readonly Column<Endpoint>[] = [
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
  { title: 'Limited to', wide: true, cell: (endpoint) => <span class="value">{scopeText(endpoint)}</span> },
  { title: 'Created', wide: true, cell: ({ createdAt }) => createdAt },
];
