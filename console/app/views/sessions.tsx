// Charge sessions, newest first.

import { CHARGE_STATUSES, numberOf } from '../../../lib/presentation/enum-names.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { choicesWithAny } from '../components/filters.tsx';
import { Amount, Moment, ShortId, StatusBadge } from '../components/inline.tsx';
import { ListPage } from '../components/page.tsx';
import { scopeFilter, useSlots } from '../components/scope-filters.ts';
import { Table } from '../components/table.tsx';
import { TIME_RANGES, useList } from '../list.ts';
import { useSignedIn } from '../signed-in.ts';

const EVERY_MS = 10_000;

export function SessionsView() {
  const { hub } = useSignedIn();
  const slots = useSlots();
  const live = useList({
    everyMs: EVERY_MS,
    scope: [slots.chosen],
    span: '7',
    load: ({ query: { status = '', order }, pageToken, from }, options) =>
      hub.payments.listChargeSessions(
        {
          status: numberOf(CHARGE_STATUSES, status),
          ...omitEmpty({ slot: slots.chosen, orderReference: order, createdFrom: from }),
          pageToken,
        },
        options,
      ),
  });
  return (
    <ListPage
      title="Sessions"
      live={live}
      filters={[
        { name: 'status', label: 'Status', choices: choicesWithAny(Object.keys(CHARGE_STATUSES)) },
        scopeFilter('slot', 'Slot', slots),
        { name: 'span', label: 'Created', choices: TIME_RANGES, otherwise: '7' },
        { name: 'order', label: 'Order reference', placeholder: 'exactly' },
      ]}
    >
      {({ sessions }) => (
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
      )}
    </ListPage>
  );
}
