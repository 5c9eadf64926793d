// Charge sessions, newest first.

import { CHARGE_STATUSES, numberOf } from '../../../lib/presentation/enum-names.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { choicesWithAny } from '../components/filters.tsx';
import { ShortId } from '../components/ids.tsx';
import { ListPage, timeFilter } from '../components/list-page.tsx';
import { scopeFilter, useSlots } from '../components/scope-filters.ts';
import { StatusBadge } from '../components/state-badges.tsx';
import { Table } from '../components/table.tsx';
import { useSignedIn } from '../sign-in-state.ts';

export function SessionsView() {
  const { hub } = useSignedIn();
  const slots = useSlots();
  return (
    <ListPage
      title="Sessions"
      everyMs={10_000}
      filters={[
        { name: 'status', label: 'Status', choices: choicesWithAny(Object.keys(CHARGE_STATUSES)) },
        scopeFilter('slot', 'Slot', slots),
        timeFilter('Created', '7'),
        { name: 'order', label: 'Order reference', placeholder: 'exactly' },
      ]}
      load={({ query: { status = '', slot, order }, pageToken, from }, options) => {
        const filter = omitEmpty({ slot, orderReference: order, createdFrom: from });
        const state = numberOf(CHARGE_STATUSES, status);
        return hub.payments.listChargeSessions({ status: state, ...filter, pageToken }, options);
      }}
    >
      {({ sessions }) => (
        <Table
          caption="Charge sessions"
          rows={sessions}
          keyOf={({ sessionId }) => sessionId}
          empty="No session matches. Choose a longer period or remove a filter."
          columns={[
            { title: 'Created', cell: ({ createdAt }) => createdAt },
            {
              title: 'Status',
              cell: (it) => <StatusBadge status={it.status} verified={it.statusVerified} />,
            },
            { title: 'Amount', kind: 'number', cell: ({ amount }) => amount },
            { title: 'Session', cell: ({ sessionId }) => <ShortId id={sessionId} /> },
            { title: 'Order', wide: true, cell: ({ orderReference }) => orderReference },
            { title: 'Slot', wide: true, cell: (it) => it.slot },
            { title: 'Why', kind: 'long', wide: true, cell: ({ statusReason }) => statusReason },
          ]}
        />
      )}
    </ListPage>
  );
}
