// Refunds and disputes, newest first.
import { numberOf, REFUND_STATES } from '../../../lib/presentation/words.ts';
import { choicesWithAny, Filters } from '../components/filters.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { scopeFilter, useSlots } from '../components/scope-filters.ts';
import { useLive } from '../live.ts';
import { RefundTable } from '../refunds/refund-table.tsx';
import { useRoute } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

const EVERY_MS = 10_000;

export function RefundsView({ who }: { readonly who: SignedIn }) {
  const { query } = useRoute();
  const slots = useSlots(who);
  const { state = '', session, review, after = '' } = query;
  const slot = query['slot'] ?? slots.only;
  const live = useLive(JSON.stringify([query, slot]), EVERY_MS, (signal) =>
    who.hub.refunds.listRefunds(
      {
        state: numberOf(REFUND_STATES, state),
        needsReview: review === 'needed',
        ...(slot && { slot }),
        ...(session && { sessionId: session }),
        pageToken: after,
      },
      { signal },
    ),
  );
  return (
    <Page title="Refunds">
      <Filters
        filters={[
          { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(REFUND_STATES)) },
          { name: 'review', label: 'Review', choices: choicesWithAny(['needed']) },
          scopeFilter('slot', 'Slot', slots),
          { name: 'session', label: 'Session', placeholder: 'chs_…' },
        ]}
      />
      <Loaded live={live}>
        {({ refunds, nextPageToken }) => (
          <>
            <RefundTable
              who={who}
              refunds={refunds}
              empty="No refund matches. Remove a filter."
              onDone={live.refresh}
            />
            <Pager next={nextPageToken} />
          </>
        )}
      </Loaded>
    </Page>
  );
}
