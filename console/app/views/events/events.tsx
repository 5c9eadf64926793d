// Events, newest first.

import type { Event } from '../../../../gen/hub/event/v1/event_pb.ts';
import { omitEmpty } from '../../../../lib/presentation/omit-empty.ts';
import { ShortId } from '../../components/ids.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { scopeFilter, useApps, useSlots } from '../../components/scope-filters.ts';
import { Table } from '../../components/table.tsx';
import { TYPE_FILTER } from '../../events/event-types.ts';
import { useRoute } from '../../route.ts';
import { useSignedIn } from '../../sign-in-state.ts';

export function EventsView() {
  const { hub, may } = useSignedIn();
  const { query } = useRoute();
  // An event belongs to an app, to a slot or to neither. A limited token filters by one: an app, or the chosen slot.
  const allApps = useApps();
  const allSlots = useSlots();
  const apps = { ...allApps, only: query['slot'] ? undefined : allApps.only };
  const slots = { ...allSlots, only: allApps.only === undefined ? allSlots.only : undefined };
  const mayOpen = may('events.getEvent');
  return (
    <ListPage
      title="Events"
      everyMs={5_000}
      filters={[
        { name: 'object', label: 'Object', placeholder: 'id, such as lic_…' },
        TYPE_FILTER,
        ...(apps.names.length > 0 ? [scopeFilter('app', 'App', apps)] : []),
        ...(slots.names.length > 0 ? [scopeFilter('slot', 'Slot', slots)] : []),
      ]}
      load={({ query: { type, object, app, slot }, pageToken }, options) => {
        const filter = { ...(type && { types: [type] }), ...omitEmpty({ object, app, slot }) };
        return hub.events.listEvents({ ...filter, pageToken }, options);
      }}
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
        { title: 'When', cell: ({ createdAt }) => createdAt },
        {
          title: 'Type',
          cell: ({ eventId, type }) => (mayOpen ? <ShortId id={eventId} text={type} /> : <code>{type}</code>),
        },
        { title: 'Object', cell: ({ object }) => <ShortId id={object} /> },
        { title: 'App', kind: 'named', cell: ({ app }) => app },
        { title: 'Slot', kind: 'named', cell: ({ slot }) => slot },
        { title: 'Sequence', kind: 'number', wide: true, cell: ({ sequence }) => String(sequence) },
      ]}
    />
  );
}
