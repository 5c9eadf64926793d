// One event: its data, and its deliveries to endpoints.
import type { Delivery, Endpoint, Event } from '../../../../gen/hub/event/v1/event_pb.ts';
import { Facts } from '../../components/facts.tsx';
import { ShortId, WholeId } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Page } from '../../components/page.tsx';
import type { Column } from '../../components/table.tsx';
import { Moment } from '../../components/timestamp.tsx';
import { DeliveryTable } from '../../events/delivery-table.tsx';
import { meaningOf } from '../../events/event-types.ts';
import { mayReplayEvents, ReplayEvent, ReplayToOther } from '../../events/replay-event.tsx';
import { useLive } from '../../live.ts';
import { linkTo } from '../../route.ts';
import type { SignedIn } from '../../signed-in.ts';

const EVERY_MS = 3_000;

type EventProps = { readonly who: SignedIn; readonly id: string };

export function EventView({ who, id }: EventProps) {
  const live = useLive(id, EVERY_MS, async (signal) => {
    const [{ event, deliveries }, { endpoints }] = await Promise.all([
      who.hub.events.getEvent({ eventId: id }, { signal }),
      who.hub.events.listEndpoints({}, { signal }),
    ]);
    return { event, deliveries, endpoints };
  });
  return (
    <Page title="Event" beside={live.data?.event && <code>{live.data.event.type}</code>}>
      <Loaded live={live}>
        {({ event, ...others }) =>
          event && (
            <>
              <p class="lead">{meaningOf(event.type)}</p>
              <EventFacts event={event} />
              <Deliveries who={who} event={event} {...others} onDone={live.refresh} />
              <section aria-labelledby="data">
                <h2 id="data">Data</h2>
                <pre>{JSON.stringify(event.data ?? null, null, 2)}</pre>
              </section>
            </>
          )
        }
      </Loaded>
    </Page>
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
  readonly who: SignedIn;
  readonly event: Event;
  readonly deliveries: readonly Delivery[];
  readonly endpoints: readonly Endpoint[];
  /** Reloads the page. */
  readonly onDone: () => Promise<void>;
};

function Deliveries({ who, event, deliveries, endpoints, onDone }: DeliveriesProps) {
  const mayReplay = mayReplayEvents(who);
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
      return <ReplayEvent who={who} event={event} endpoint={endpoint} onDone={onDone} />;
    },
  };
  return (
    <section aria-labelledby="deliveries">
      <div class="section-head">
        <h2 id="deliveries">Deliveries</h2>
        {mayReplay && others.length > 0 && (
          <ReplayToOther who={who} event={event} endpoints={others} onDone={onDone} />
        )}
      </div>
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
    </section>
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
