// A confirmation dialog; destructive actions require a typed word.
import type { ComponentChildren } from 'preact';
import { DialogForm } from '../forms/dialog-form.tsx';
import { TextField } from '../forms/fields.tsx';
import type { Outcome } from '../forms/form-state.ts';

export type ConfirmProps = {
  /** Label of the button that opens the dialog and of the one that confirms. */
  readonly action: string;
  readonly question: string;
  readonly children: ComponentChildren;
  /** The word to type before confirming. */
  readonly word?: string;
  /** Asks for a reason, which the audit log keeps. */
  readonly asksReason?: boolean;
  readonly dangerous?: boolean;
  /** Performs the action. The idempotency key is the same until the dialog is closed. */
  readonly run: (reason: string, idempotencyKey: string) => Promise<Outcome>;
};

export function Confirm(props: ConfirmProps) {
  const { action, question, children, word, asksReason = false, dangerous = false, run } = props;
  return (
    <DialogForm
      action={action}
      title={question}
      dangerous={dangerous}
      subject={undefined}
      initial={() => ({ reason: '', word: '' })}
      isReady={(values) =>
        (word === undefined || values.word.trim().toUpperCase() === word.toUpperCase()) &&
        (!asksReason || values.reason.trim() !== '')
      }
      submit={({ values, idempotencyKey }) => run(values.reason.trim(), idempotencyKey)}
    >
      {(form) => (
        <>
          {children}
          {asksReason && (
            <TextField
              form={form}
              name="reason"
              label="Reason (stored in the audit log)"
              maxLength={500}
              isRequired
            />
          )}
          {word !== undefined && (
            <TextField
              form={form}
              name="word"
              label={
                <>
                  Type <code>{word}</code> to confirm
                </>
              }
              isRequired
            />
          )}
        </>
      )}
    </DialogForm>
  );
}
