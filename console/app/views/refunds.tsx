// Refunds and disputes, newest first.

import { numberOf, REFUND_STATES } from '../../../lib/presentation/enum-names.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { choicesWithAny } from '../components/filters.tsx';
import { ListPage } from '../components/list-page.tsx';
import { scopeFilter, useSlots } from '../components/scope-filters.ts';
import { RefundTable } from '../refunds/refund-table.tsx';
import { useSignedIn } from '../sign-in-state.ts';

export function RefundsView() {
  const { hub } = useSignedIn();
  const slots = useSlots();
  return (
    <ListPage
      title="Refunds"
      everyMs={10_000}
      filters={[
        { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(REFUND_STATES)) },
        { name: 'review', label: 'Review', choices: choicesWithAny(['needed']) },
        scopeFilter('slot', 'Slot', slots),
        { name: 'session', label: 'Session', placeholder: 'chs_…' },
      ]}
      load={({ query: { state = '', review, slot, session }, pageToken }, options) =>
        hub.refunds.listRefunds(
          {
            state: numberOf(REFUND_STATES, state),
            needsReview: review === 'needed',
            ...omitEmpty({ slot, sessionId: session }),
            pageToken,
          },
          options,
        )
      }
    >
      {({ refunds }) => <RefundTable refunds={refunds} empty="No refund matches. Remove a filter." />}
    </ListPage>
  );
}
