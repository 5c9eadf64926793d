// Charge sessions, newest first.

import { CHARGE_STATUSES, numberOf } from '../../../lib/presentation/words.ts';
import { Amount } from '../components/amount.tsx';
import { StatusBadge } from '../components/badge.tsx';
import { choicesWithAny, Filters } from '../components/filters.tsx';
import { ShortId } from '../components/id.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { scopeFilter, useSlots } from '../components/scope-filters.ts';
import { Table } from '../components/table.tsx';
import { Moment } from '../components/timestamp.tsx';
import { useLive } from '../live.ts';
import { useRoute } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';
import { rangeStart, sinceOf, TIME_RANGES } from '../time-ranges.ts';

const EVERY_MS = 10_000;

export function SessionsView({ who }: { readonly who: SignedIn }) {
  const { query } = useRoute();
  const slots = useSlots(who);
  const { status = '', order, after = '', since, span = '7' } = query;
  const slot = query['slot'] ?? slots.only;
  const live = useLive(
    JSON.stringify([status, slot, order, after, since, span]),
    EVERY_MS,
    async (signal) => {
      const createdFrom = rangeStart(span, since);
      const page = await who.hub.payments.listChargeSessions(
        {
          status: numberOf(CHARGE_STATUSES, status),
          ...(slot && { slot }),
          ...(order && { orderReference: order }),
          ...(createdFrom && { createdFrom }),
          pageToken: after,
        },
        { signal },
      );
      return { ...page, since: sinceOf(createdFrom) };
    },
  );
  return (
    <Page title="Sessions">
      <Filters
        filters={[
          { name: 'status', label: 'Status', choices: choicesWithAny(Object.keys(CHARGE_STATUSES)) },
          scopeFilter('slot', 'Slot', slots),
          { name: 'span', label: 'Created', choices: TIME_RANGES, otherwise: '7' },
          { name: 'order', label: 'Order reference', placeholder: 'exactly' },
        ]}
      />
      <Loaded live={live}>
        {({ sessions, nextPageToken, since }) => (
          <>
            <Table
              caption="Charge sessions"
              rows={sessions}
              keyOf={({ sessionId }) => sessionId}
              empty="No session matches. Choose a longer period or remove a filter."
              columns={[
                { title: 'Created', cell: ({ createdAt }) => <Moment at={createdAt} /> },
                {
                  title: 'Status',
                  cell: (it) => <StatusBadge status={it.status} verified={it.statusVerified} />,
                },
                { title: 'Amount', kind: 'number', cell: ({ amount }) => <Amount money={amount} /> },
                { title: 'Session', cell: ({ sessionId }) => <ShortId id={sessionId} /> },
                { title: 'Order', wide: true, cell: ({ orderReference }) => orderReference },
                { title: 'Slot', wide: true, cell: (it) => it.slot },
                { title: 'Why', kind: 'long', wide: true, cell: ({ statusReason }) => statusReason },
              ]}
            />
            <Pager next={nextPageToken} since={since} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
