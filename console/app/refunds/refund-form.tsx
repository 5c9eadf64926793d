// The form that refunds the payment of a session. It shows what the refund does before it is submitted.
import type { Order } from '../../../gen/hub/order/v1/order_pb.ts';
import { type ChargeSession, ChargeStatus } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { type Refund, RefundState } from '../../../gen/hub/payment/v1/refund_pb.ts';
import { messageOf } from '../../../lib/caught-error.ts';
import { formatDecimal } from '../../../lib/presentation/money.ts';
import { parseGroupedDecimal } from '../../../lib/presentation/parse-decimal.ts';
import { decimalText } from '../components/values.tsx';
import { sentence } from '../explain-error.ts';
import { DialogForm } from '../forms/dialog-form.tsx';
import { TextField } from '../forms/fields.tsx';
import { FieldError } from '../forms/form-errors.ts';
import { useSignedIn } from '../sign-in-state.ts';

type RefundProps = {
  readonly session: ChargeSession;
  readonly refunds: readonly Refund[];
  readonly order: Order | undefined;
};

/** Renders nothing if nothing can be refunded, or if the caller may not refund. */
export function RefundForm({ session, refunds, order }: RefundProps) {
  const { hub, may } = useSignedIn();
  const { amount, sessionId, status } = session;
  const currency = amount?.currency ?? '';
  const leftMinor = leftOf(session, refunds);
  if (status !== ChargeStatus.SUCCESS || leftMinor <= 0n) return null;
  if (!may('refunds.createRefund')) return null;
  return (
    <DialogForm
      action="Refund"
      title="Refund this payment?"
      dangerous
      subject={undefined}
      initial={() => ({ amount: formatDecimal(leftMinor, currency), reason: '' })}
      isReady={({ reason }) => reason.trim() !== ''}
      submit={async ({ values, idempotencyKey }) => {
        const { refund } = await hub.refunds.createRefund({
          sessionId,
          amount: { minorUnits: readAmount(values.amount, currency), currency },
          reason: values.reason.trim(),
          idempotencyKey,
        });
        return outcomeOf(refund);
      }}
    >
      {(form) => (
        <>
          <TextField
            form={form}
            name="amount"
            label={`Amount in ${currency}`}
            hint={`At most ${decimalText(leftMinor, currency)}, which is left of the payment.`}
            isRequired
          />
          <TextField
            form={form}
            name="reason"
            label="Reason (for the records of the hub and of the provider)"
            maxLength={200}
            isRequired
          />
          <p class="value">{effectOf(form.values.amount, { leftMinor, currency, session, order })}</p>
        </>
      )}
    </DialogForm>
  );
}

/** The payment less its succeeded and pending refunds. */
function leftOf({ amount, refunded }: ChargeSession, refunds: readonly Refund[]): bigint {
  const pending = refunds
    .filter(({ state }) => state === RefundState.PENDING)
    .reduce((sum, refund) => sum + (refund.amount?.minorUnits ?? 0n), 0n);
  return (amount?.minorUnits ?? 0n) - (refunded?.minorUnits ?? 0n) - pending;
}

type EffectOptions = Pick<RefundProps, 'session' | 'order'> & {
  readonly leftMinor: bigint;
  readonly currency: string;
};

function effectOf(text: string, { leftMinor, currency, session, order }: EffectOptions): string {
  let minorUnits: bigint;
  try {
    minorUnits = readAmount(text, currency);
  } catch {
    return 'The form is not complete yet.';
  }
  const pays = `The provider pays ${decimalText(minorUnits, currency)} ${currency} back to the customer.`;
  if (session.purchase === undefined) return pays;
  const licenses = order?.licenses.length ?? 0;
  if (minorUnits < leftMinor) return `${pays} The customer keeps what the payment bought.`;
  const what = licenses === 1 ? 'its license' : 'its licenses';
  return `${pays} The payment is then refunded in full: the hub takes back ${what}, by the policy of the offer.`;
}

/** @throws FieldError */
function readAmount(text: string, currency: string): bigint {
  try {
    return parseGroupedDecimal(text.trim(), currency);
  } catch (error) {
    throw new FieldError('amount', sentence(messageOf(error)));
  }
}

function outcomeOf(refund: Refund | undefined): string {
  if (refund?.state === RefundState.SUCCEEDED) return 'The payment is refunded.';
  if (refund?.state === RefundState.FAILED) return `The refund failed. ${sentence(refund.stateReason)}`;
  return 'The refund is pending. The hub asks the provider again until it is final.';
}
