// Buttons that replay one or many callbacks.

import { type Callback, CallbackState } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CALLBACK_STATES, wordFor } from '../../../lib/presentation/enum-names.ts';
import { useSignedIn } from '../signed-in.ts';
import { Confirm } from './confirm.tsx';

export function Replay({ callback }: { readonly callback: Callback }) {
  const { hub } = useSignedIn();
  const run = async (): Promise<string> => {
    const reply = await hub.paymentAdmin.replayCallback({ callbackId: callback.callbackId });
    return `Replayed: the callback is ${wordFor(CALLBACK_STATES, reply.callback?.state ?? 0)}.`;
  };
  return (
    <Confirm action="Replay" question="Process this callback again?" run={run}>
      <p>
        The hub verifies the session with the provider again and settles it by the answer. A settled session
        is not settled twice.
      </p>
    </Confirm>
  );
}

export function ReplayAll({ callbacks }: { readonly callbacks: readonly Callback[] }) {
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
