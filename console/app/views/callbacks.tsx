// Callbacks, newest first; waiting ones by default.
import type { Callback } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CALLBACK_STATES, numberOf, wordFor } from '../../../lib/presentation/words.ts';
import { CallbackTable } from '../components/callback-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { mayReplay, ReplayAll } from '../components/replay.tsx';
import { useLive } from '../live.ts';
import { linkTo, useRoute } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

const EVERY_MS = 10_000;

const TABS = [
  ['received', 'Waiting', 'No callback is waiting: all are processed.'],
  ['dead', 'Dead', 'No callback was given up: all were processed within a day of attempts.'],
  ['mismatch', 'Mismatch', 'No callback contradicts itself or its session.'],
  ['unresolved', 'Unresolved', 'All callbacks name a session of this hub.'],
  ['ignored', 'Ignored', 'No callback was ignored.'],
  ['settled', 'Settled', 'No callback has been settled yet.'],
  ['all', 'All', 'No callback has arrived yet.'],
] as const;

export function CallbacksView({ who }: { readonly who: SignedIn }) {
  const { query } = useRoute();
  const { state = 'received', after = '' } = query;
  const [, , empty] = TABS.find(([name]) => name === state) ?? TABS[0];
  const live = useLive(`${state} ${after}`, EVERY_MS, (signal) => {
    const request = { state: numberOf(CALLBACK_STATES, state), pageToken: after };
    return who.hub.paymentAdmin.listCallbacks(request, { signal });
  });
  const replayable = mayReplay(who) ? (live.data?.callbacks ?? []).filter(isGivenUp) : [];
  return (
    <Page
      title="Callbacks"
      actions={replayable.length > 1 && <ReplayAll who={who} callbacks={replayable} onDone={live.refresh} />}
    >
      <nav class="tabs" aria-label="State">
        {TABS.map(([name, title]) => (
          <a
            key={name}
            href={linkTo(['callbacks'], { state: name })}
            aria-current={name === state ? 'true' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      <Loaded live={live}>
        {({ callbacks, nextPageToken }) => (
          <>
            <CallbackTable callbacks={callbacks} empty={empty} />
            <Pager next={nextPageToken} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function isGivenUp({ state }: Callback): boolean {
  return wordFor(CALLBACK_STATES, state) === 'dead';
}
