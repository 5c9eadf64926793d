// Refunds and disputes, newest first.

import { numberOf, REFUND_STATES } from '../../../lib/presentation/enum-names.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { choicesWithAny } from '../components/filters.tsx';
import { ListPage } from '../components/page.tsx';
import { scopeFilter, useSlots } from '../components/scope-filters.ts';
import { useList } from '../list.ts';
import { RefundTable } from '../refunds/refund-table.tsx';
import { useSignedIn } from '../signed-in.ts';

const EVERY_MS = 10_000;

export function RefundsView() {
  const { hub } = useSignedIn();
  const slots = useSlots();
  const live = useList({
    everyMs: EVERY_MS,
    scope: [slots.chosen],
    load: ({ query: { state = '', session, review }, pageToken }, options) =>
      hub.refunds.listRefunds(
        {
          state: numberOf(REFUND_STATES, state),
          needsReview: review === 'needed',
          ...omitEmpty({ slot: slots.chosen, sessionId: session }),
          pageToken,
        },
        options,
      ),
  });
  return (
    <ListPage
      title="Refunds"
      live={live}
      filters={[
        { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(REFUND_STATES)) },
        { name: 'review', label: 'Review', choices: choicesWithAny(['needed']) },
        scopeFilter('slot', 'Slot', slots),
        { name: 'session', label: 'Session', placeholder: 'chs_…' },
      ]}
    >
      {({ refunds }) => <RefundTable refunds={refunds} empty="No refund matches. Remove a filter." />}
    </ListPage>
  );
}
