// Callbacks, newest first; waiting ones by default.

import type { Callback } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CALLBACK_STATES, numberOf, wordFor } from '../../../lib/presentation/enum-names.ts';
import { CallbackTable } from '../components/callback-table.tsx';
import { ListPage } from '../components/page.tsx';
import { mayReplay, ReplayAll } from '../components/replay.tsx';
import { StateTabs } from '../components/tabs.tsx';
import { useList } from '../list.ts';
import { useRoute } from '../route.ts';
import { useSignedIn } from '../signed-in.ts';

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

export function CallbacksView() {
  const who = useSignedIn();
  const { state = 'received' } = useRoute().query;
  const [, , empty] = TABS.find(([name]) => name === state) ?? TABS[0];
  const live = useList({
    everyMs: EVERY_MS,
    load: ({ pageToken }, options) =>
      who.hub.paymentAdmin.listCallbacks({ state: numberOf(CALLBACK_STATES, state), pageToken }, options),
  });
  const replayable = mayReplay(who) ? (live.data?.callbacks ?? []).filter(isGivenUp) : [];
  return (
    <ListPage
      title="Callbacks"
      live={live}
      tabs={<StateTabs tabs={TABS} state={state} />}
      actions={replayable.length > 1 && <ReplayAll callbacks={replayable} />}
    >
      {({ callbacks }) => <CallbackTable callbacks={callbacks} empty={empty} />}
    </ListPage>
  );
}

function isGivenUp({ state }: Callback): boolean {
  return wordFor(CALLBACK_STATES, state) === 'dead';
}
