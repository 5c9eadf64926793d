// Buttons that replay one or many callbacks.

import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { type Callback, CallbackState } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CALLBACK_STATES, wordFor } from '../../../lib/presentation/words.ts';
import { canCall } from '../permissions.ts';
import type { SignedIn } from '../signed-in.ts';
import { Confirm } from './confirm.tsx';

type ReplayProps = {
  readonly who: SignedIn;
  /** Reloads the page. */
  readonly onDone: () => Promise<void>;
};

export function mayReplay({ caller }: SignedIn): boolean {
  return canCall(caller, PaymentAdminService.method.replayCallback);
}

export function Replay({ who, callback, onDone }: ReplayProps & { readonly callback: Callback }) {
  const run = async (): Promise<string> => {
    const reply = await who.hub.paymentAdmin.replayCallback({ callbackId: callback.callbackId });
    await onDone();
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

export function ReplayAll({
  who,
  callbacks,
  onDone,
}: ReplayProps & { readonly callbacks: readonly Callback[] }) {
  const run = async (): Promise<string> => {
    let settled = 0;
    for (const { callbackId } of callbacks) {
      const { callback } = await who.hub.paymentAdmin.replayCallback({ callbackId });
      if (callback?.state === CallbackState.SETTLED) settled += 1;
    }
    await onDone();
    return `Replayed ${callbacks.length} callbacks: ${settled} are settled now.`;
  };
  return (
    <Confirm
      action={`Replay these ${callbacks.length}`}
      question={`Process these ${callbacks.length} callbacks again?`}
      run={run}
    >
      <p>
        One after the other, from the latest on. The provider is asked about each; the first that fails ends
        it. A settled session is not settled twice.
      </p>
    </Confirm>
  );
}
