// Callbacks, newest first; waiting ones by default.
import type { ComponentChildren } from 'preact';
import { type Callback, CallbackState } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CALLBACK_STATES, numberOf } from '../../../lib/presentation/enum-names.ts';
import { CallbackTable } from '../components/callback-table.tsx';
import { Confirm } from '../components/confirm.tsx';
import { ListPage } from '../components/list-page.tsx';
import { StateTabs } from '../components/tabs.tsx';
import { useRoute } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';

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
  const { hub, may } = useSignedIn();
  const { state = 'received' } = useRoute().query;
  const [, , empty] = TABS.find(([name]) => name === state) ?? TABS[0];
  const replayAll = (callbacks: readonly Callback[]): ComponentChildren => {
    const replayable = callbacks.filter(({ state }) => state === CallbackState.DEAD);
    return replayable.length > 1 && <ReplayAll callbacks={replayable} />;
  };
  return (
    <ListPage
      title="Callbacks"
      everyMs={10_000}
      tabs={<StateTabs tabs={TABS} state={state} />}
      load={({ pageToken }, options) =>
        hub.paymentAdmin.listCallbacks({ state: numberOf(CALLBACK_STATES, state), pageToken }, options)
      }
      actions={(page) => may('paymentAdmin.replayCallback') && replayAll(page?.callbacks ?? [])}
    >
      {({ callbacks }) => <CallbackTable callbacks={callbacks} empty={empty} />}
    </ListPage>
  );
}

function ReplayAll({ callbacks }: { readonly callbacks: readonly Callback[] }) {
  const { hub } = useSignedIn();
  const run = async (): Promise<string> => {
    let settled = 0;
    for (const { callbackId } of callbacks) {
      const { callback } = await hub.paymentAdmin.replayCallback({ callbackId });
      if (callback?.state === CallbackState.SETTLED) settled += 1;
    }
    return `Replayed ${callbacks.length} callbacks: ${settled} are settled now.`;
  };
  return (
    <Confirm
      action={`Replay these ${callbacks.length}`}
      question={`Process these ${callbacks.length} callbacks again?`}
      run={run}
    >
      <p>
        The hub processes them one after the other, the latest first, and queries the provider about each. It
        stops at the first failure. A settled session is not settled twice.
      </p>
    </Confirm>
  );
}
