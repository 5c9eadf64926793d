// Having callbacks dealt with again, one or many.

import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { type Callback, CallbackState } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CALLBACK_STATES, wordFor } from '../../../story/words.ts';
import { may } from '../may.ts';
import type { SignedIn } from '../signed-in.ts';
import { Confirm } from './confirm.tsx';

type ReplayProps = {
  readonly who: SignedIn;
  /** Shows what has come of it. */
  readonly onDone: () => Promise<void>;
};

export function mayReplay({ caller }: SignedIn): boolean {
  return may(caller, PaymentAdminService.method.replayCallback);
}

export function Replay({ who, callback, onDone }: ReplayProps & { readonly callback: Callback }) {
  const run = async (): Promise<string> => {
    const reply = await who.hub.paymentAdmin.replayCallback({ callbackId: callback.callbackId });
    await onDone();
    return `Replayed: the callback is ${wordFor(CALLBACK_STATES, reply.callback?.state ?? 0)}.`;
  };
  return (
    <Confirm action="Replay" question="Deal with this callback again?" run={run}>
      <p>
        The provider is asked anew, and the session settled by its answer. What is settled already is not
        settled twice.
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
      question={`Deal with these ${callbacks.length} callbacks again?`}
      run={run}
    >
      <p>
        One after the other, from the latest on. The provider is asked about each; the first that fails ends
        it. What is settled already is not settled twice.
      </p>
    </Confirm>
  );
}
