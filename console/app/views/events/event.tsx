// One event: its data, and its deliveries to endpoints.

import type { Delivery, Endpoint, Event } from '../../../../gen/hub/event/v1/event_pb.ts';
import { Facts } from '../../components/facts.tsx';
import { ShortId, WholeId } from '../../components/ids.tsx';
import { LivePage, Section } from '../../components/page.tsx';
import type { Column } from '../../components/table.tsx';
import { Moment } from '../../components/times.tsx';
import { DeliveryTable } from '../../events/delivery-table.tsx';
import { meaningOf } from '../../events/event-types.ts';
import { ReplayEvent, ReplayToOther } from '../../events/replay-event.tsx';
import { useLive } from '../../poll-hub.ts';
import { linkTo } from '../../route.ts';
import { useSignedIn } from '../../sign-in-state.ts';

export function EventView({ id }: { readonly id: string }) {
  const { hub } = useSignedIn();
  const live = useLive(id, 3_000, async (signal) => {
    const [{ event, deliveries }, { endpoints }] = await Promise.all([
      hub.events.getEvent({ eventId: id }, { signal }),
      hub.events.listEndpoints({}, { signal }),
    ]);
    if (event === undefined) throw new Error('the hub returned no event');
    return { event, deliveries, endpoints };
  });
  return (
    <LivePage title="Event" live={live} beside={({ event }) => <code>{event.type}</code>}>
      {(data) => (
        <>
          <p class="lead">{meaningOf(data.event.type)}</p>
          <EventFacts event={data.event} />
          <Deliveries {...data} />
          <Section title="Data">
            <pre>{JSON.stringify(data.event.data ?? null, null, 2)}</pre>
          </Section>
        </>
      )}
    </LivePage>
  );
}

function EventFacts({ event }: { readonly event: Event }) {
  const { object, app, slot, data } = event;
  const license = object.startsWith('seat_') ? data?.['licenseId'] : undefined;
  return (
    <Facts
      facts={[
        ['Event', <WholeId key="id" id={event.eventId} />],
        ['Time', <Moment key="time" at={event.createdAt} exact />],
        ['Object', <ShortId key="object" id={object} />],
        ['License', typeof license === 'string' && <ShortId id={license} />],
        [
          'All events of the object',
          <a key="all" href={linkTo(['events'], { object })}>
            Events
          </a>,
        ],
        ['Sequence', String(event.sequence)],
        ['App', app],
        ['Slot', slot],
      ]}
    />
  );
}

type DeliveriesProps = {
  readonly event: Event;
  readonly deliveries: readonly Delivery[];
  readonly endpoints: readonly Endpoint[];
};

function Deliveries({ event, deliveries, endpoints }: DeliveriesProps) {
  const mayReplay = useSignedIn().may('events.replayEvent');
  const byId = new Map(endpoints.map((endpoint) => [endpoint.endpointId, endpoint]));
  const received = new Set(deliveries.map(({ endpointId }) => endpointId));
  const others = endpoints.filter(
    ({ endpointId, disabledAt }) => disabledAt === undefined && !received.has(endpointId),
  );
  const replay: Column<Delivery> = {
    title: 'Action',
    cell: ({ endpointId }) => {
      const endpoint = byId.get(endpointId);
      if (endpoint === undefined || endpoint.disabledAt !== undefined) return null;
      return <ReplayEvent event={event} endpoint={endpoint} />;
    },
  };
  return (
    <Section
      title="Deliveries"
      beside={mayReplay && others.length > 0 && <ReplayToOther event={event} endpoints={others} />}
    >
      <DeliveryTable
        caption="Deliveries"
        deliveries={deliveries}
        empty="No endpoint receives this event."
        first={[
          {
            title: 'Endpoint',
            kind: 'long',
            cell: ({ endpointId }) => <EndpointLink id={endpointId} endpoint={byId.get(endpointId)} />,
          },
        ]}
        last={mayReplay ? [replay] : []}
      />
    </Section>
  );
}

function EndpointLink({ id, endpoint }: { readonly id: string; readonly endpoint: Endpoint | undefined }) {
  if (endpoint === undefined) {
    return (
      <>
        <code class="value">{id}</code> <span class="muted">removed</span>
      </>
    );
  }
  return (
    <>
      <a class="id" href={linkTo(['endpoints', id])} title={id}>
        {endpoint.url}
      </a>
      {endpoint.disabledAt && <span class="muted"> disabled</span>}
    </>
  );
}
