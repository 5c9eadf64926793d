// Events, newest first.
import type { Event } from '../../../../gen/hub/event/v1/event_pb.ts';
import { EventService } from '../../../../gen/hub/event/v1/event_service_pb.ts';
import { Filters } from '../../components/filters.tsx';
import { ShortId } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { scopeFilter, useApps, useSlots } from '../../components/scope-filters.ts';
import { SearchResult } from '../../components/search-result.tsx';
import { Table } from '../../components/table.tsx';
import { Moment } from '../../components/timestamp.tsx';
import { TYPE_FILTER } from '../../events/event-types.ts';
import { useKept } from '../../forms/search.ts';
import { useLive } from '../../live.ts';
import { canCall } from '../../permissions.ts';
import { linkTo, useRoute } from '../../route.ts';
import type { SignedIn } from '../../signed-in.ts';

const EVERY_MS = 5_000;

export function EventsView({ who }: { readonly who: SignedIn }) {
  const { type, object, after = '', ...query } = useRoute().query;
  // An event belongs to an app, to a slot or to neither. A limited token filters by one: an app, or the chosen slot.
  const allApps = useApps(who);
  const allSlots = useSlots(who);
  const apps = { ...allApps, only: query['slot'] ? undefined : allApps.only };
  const slots = { ...allSlots, only: allApps.only === undefined ? allSlots.only : undefined };
  const app = query['app'] ?? apps.only;
  const slot = query['slot'] ?? slots.only;
  const live = useKept(
    useLive(JSON.stringify([type, object, app, slot, after]), EVERY_MS, (signal) =>
      who.hub.events.listEvents(
        {
          ...(type && { types: [type] }),
          ...(object && { object }),
          ...(app && { app }),
          ...(slot && { slot }),
          pageToken: after,
        },
        { signal },
      ),
    ),
  );
  const mayOpen = canCall(who.caller, EventService.method.getEvent);
  return (
    <Page title="Events">
      <Filters
        filters={[
          { name: 'object', label: 'Object', placeholder: 'id, such as lic_…' },
          TYPE_FILTER,
          ...(apps.names.length > 0 ? [scopeFilter('app', 'App', apps)] : []),
          ...(slots.names.length > 0 ? [scopeFilter('slot', 'Slot', slots)] : []),
        ]}
      />
      <Loaded live={live}>
        {({ events, nextPageToken }) => (
          <SearchResult
            what="event"
            count={events.length}
            hasMore={nextPageToken !== ''}
            isOutdated={live.isOutdated}
          >
            <EventTable events={events} mayOpen={mayOpen} />
            <Pager next={nextPageToken} />
          </SearchResult>
        )}
      </Loaded>
    </Page>
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
