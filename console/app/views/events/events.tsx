// Events, newest first.

import type { Event } from '../../../../gen/hub/event/v1/event_pb.ts';
import { EventService } from '../../../../gen/hub/event/v1/event_service_pb.ts';
import { omitEmpty } from '../../../../lib/presentation/omit-empty.ts';
import { Moment, ShortId } from '../../components/inline.tsx';
import { ListPage } from '../../components/page.tsx';
import { scopeFilter, useApps, useSlots } from '../../components/scope-filters.ts';
import { Table } from '../../components/table.tsx';
import { TYPE_FILTER } from '../../events/event-types.ts';
import { useKept } from '../../forms/search.ts';
import { useList } from '../../list.ts';
import { linkTo, useRoute } from '../../route.ts';
import { useSignedIn } from '../../signed-in.ts';

const EVERY_MS = 5_000;

export function EventsView() {
  const { hub, may } = useSignedIn();
  const { query } = useRoute();
  // An event belongs to an app, to a slot or to neither. A limited token filters by one: an app, or the chosen slot.
  const allApps = useApps();
  const allSlots = useSlots();
  const apps = { ...allApps, only: query['slot'] ? undefined : allApps.only };
  const slots = { ...allSlots, only: allApps.only === undefined ? allSlots.only : undefined };
  const app = query['app'] ?? apps.only;
  const slot = query['slot'] ?? slots.only;
  const live = useKept(
    useList({
      everyMs: EVERY_MS,
      scope: [app, slot],
      load: ({ query: { type, object }, pageToken }, options) =>
        hub.events.listEvents(
          { ...(type && { types: [type] }), ...omitEmpty({ object, app, slot }), pageToken },
          options,
        ),
    }),
  );
  const mayOpen = may(EventService.method.getEvent);
  return (
    <ListPage
      title="Events"
      live={live}
      filters={[
        { name: 'object', label: 'Object', placeholder: 'id, such as lic_…' },
        TYPE_FILTER,
        ...(apps.names.length > 0 ? [scopeFilter('app', 'App', apps)] : []),
        ...(slots.names.length > 0 ? [scopeFilter('slot', 'Slot', slots)] : []),
      ]}
      search={{ what: 'event', rows: ({ events }) => events }}
    >
      {({ events }) => <EventTable events={events} mayOpen={mayOpen} />}
    </ListPage>
  );
}

function EventTable({ events, mayOpen }: { readonly events: readonly Event[]; readonly mayOpen: boolean }) {
  return (
    <Table
      caption="Events"
      rows={events}
      keyOf={({ eventId }) => eventId}
      empty="No event matches. Old events are deleted."
      columns={[
        { title: 'When', cell: ({ createdAt }) => <Moment at={createdAt} /> },
        {
          title: 'Type',
          cell: ({ eventId, type }) =>
            mayOpen ? (
              <a class="id" href={linkTo(['events', eventId])} title={eventId}>
                <code>{type}</code>
              </a>
            ) : (
              <code>{type}</code>
            ),
        },
        { title: 'Object', cell: ({ object }) => <ShortId id={object} /> },
        { title: 'App', kind: 'named', cell: ({ app }) => app },
        { title: 'Slot', kind: 'named', cell: ({ slot }) => slot },
        { title: 'Sequence', kind: 'number', wide: true, cell: ({ sequence }) => String(sequence) },
      ]}
    />
  );
}
