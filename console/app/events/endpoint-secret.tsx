// Shows the secret of an endpoint once, and replaces it.
import type { Endpoint } from '../../../gen/hub/event/v1/event_pb.ts';
import { Moment } from '../components/times.tsx';
import { CopyText } from '../forms/copy-text.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { wholeNumber } from '../forms/field-values.ts';
import { TextField } from '../forms/fields.tsx';
import { FieldError } from '../forms/form-errors.ts';
import { useSignedIn } from '../sign-in-state.ts';

const KEEP_HOURS = '24';
const MAX_KEEP_HOURS = 168;

export function RotateSecret({ endpoint: { endpointId } }: { readonly endpoint: Endpoint }) {
  const { hub } = useSignedIn();
  const submit = async (keepHours: number) => {
    const { secret, endpoint } = await hub.events.rotateEndpointSecret({ endpointId, keepHours });
    const until = endpoint?.previousSecretUntil;
    return {
      announce: 'The endpoint has a new secret.',
      show: (
        <>
          <SecretText secret={secret} />
          <p>
            {until ? (
              <>
                Deliveries are also signed with the old secret until <Moment at={until} />.
              </>
            ) : (
              'The old secret no longer signs deliveries.'
            )}
          </p>
        </>
      ),
    };
  };
  return (
    <DialogForm
      action="Rotate secret"
      title="Replace the secret?"
      subject={undefined}
      initial={() => ({ keepHours: KEEP_HOURS })}
      submit={({ values }) => submit(hoursOf(values.keepHours))}
      effect={() => (
        <>
          <p>
            The hub then shows the new secret, once. It signs deliveries with both secrets for these hours:
            replace the secret of the receiver in that time.
          </p>
          <p>A secret that an earlier rotation replaced stops at once.</p>
        </>
      )}
    >
      {(form) => (
        <TextField
          form={form}
          name="keepHours"
          label="Hours that the old secret still signs"
          hint={`0 to ${MAX_KEEP_HOURS}. With 0, the old secret stops at once.`}
        />
      )}
    </DialogForm>
  );
}

/** @throws FieldError if the text is not a number, or the number is too large */
function hoursOf(text: string): number {
  const hours = wholeNumber('keepHours', text);
  if (hours <= MAX_KEEP_HOURS) return hours;
  throw new FieldError('keepHours', `Enter at most ${MAX_KEEP_HOURS}.`);
}

export function SecretText({ secret }: { readonly secret: string }) {
  return (
    <>
      <p>
        This secret signs the deliveries. <strong>The hub does not show it again:</strong> copy it into the
        settings of the receiver before you close this dialog.
      </p>
      <CopyText label="Secret" what="the secret" lines={[secret]} />
    </>
  );
}
