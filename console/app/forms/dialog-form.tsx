// A button that opens a form in a dialog: the fields, what submitting does, and errors beside the fields.
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Trouble } from '../components/loaded.tsx';
import { Effect } from './fields.tsx';
import { type FormOptions, useForm, type Values, type WholeForm } from './form-state.ts';

export type DialogFormProps<K extends string, S> = FormOptions<K, S> & {
  /** Label of the button that opens the dialog. */
  readonly action: string;
  readonly title: string;
  /** Label of the button that submits; the default is `action`. */
  readonly submitLabel?: string;
  readonly dangerous?: boolean;
  readonly wide?: boolean;
  /** Whether the form edits its subject: it cannot be submitted without a change. */
  readonly isEdit?: boolean;
  /** Whether the form is complete. */
  readonly isReady?: (values: Values<K>) => boolean;
  /** States what submitting will do. */
  readonly effect?: (form: WholeForm<K>, subject: S) => ComponentChildren;
  readonly children: (form: WholeForm<K>, subject: S) => ComponentChildren;
};

export function DialogForm<K extends string, S>(props: DialogFormProps<K, S>) {
  const { action, title, submitLabel = action, dangerous = false, wide = false, children } = props;
  const { isEdit = false, isReady = () => true, effect } = props;
  const form = useForm(props);
  const { isOpen, values, changed, subject, errors, busy, result } = form;
  const element = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    if (errors.fields.size > 0) focusFirstError(element.current);
  }, [errors]);
  const ready = isReady(values) && (changed.length > 0 || !isEdit);
  const submit = (event: Event): void => {
    event.preventDefault();
    if (ready) void form.submit();
  };
  const content = (): ComponentChildren =>
    result === undefined ? (
      <form ref={element} noValidate onSubmit={submit}>
        {children(form, subject)}
        {effect && <Effect>{effect(form, subject)}</Effect>}
        <FormTrouble form={form} canReload={props.reload !== undefined} />
        <div class="buttons">
          <button type="button" onClick={form.close}>
            Cancel
          </button>
          <button type="submit" class={dangerous ? 'danger solid' : 'solid'} disabled={!ready || busy}>
            {busy ? 'Working …' : submitLabel}
          </button>
        </div>
      </form>
    ) : (
      <Result onClose={form.close}>{result.show}</Result>
    );
  return (
    <>
      <button type="button" class={dangerous ? 'danger' : ''} onClick={form.open}>
        {action}
      </button>
      <Modal title={result?.title ?? title} isOpen={isOpen} onClose={form.close} wide={wide}>
        {content}
      </Modal>
    </>
  );
}

type ModalProps = {
  readonly title: string;
  readonly isOpen: boolean;
  /** Called when the dialog closes, also by the Escape key. */
  readonly onClose: () => void;
  /** For forms with many fields. */
  readonly wide?: boolean;
  readonly children: () => ComponentChildren;
};

/** The browser keeps the focus in it, and returns the focus when it closes. */
function Modal({ title, isOpen, onClose, wide = false, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Before the next key press: an effect after the next paint would lose what is typed until then.
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  // Escape fires `cancel` at once. `close` comes later, when a quick user may have opened the dialog again. A file
  // field in the dialog fires `cancel` too.
  return (
    <dialog
      ref={dialog}
      class={wide ? 'wide-dialog' : ''}
      aria-labelledby={heading}
      onCancel={({ target }) => target === dialog.current && onClose()}
      onClose={() => dialog.current?.open !== true && onClose()}
    >
      {isOpen && (
        <>
          <h2 id={heading}>{title}</h2>
          {children()}
        </>
      )}
    </dialog>
  );
}

/** The field is in a closed part of the form if its error came from the hub. */
function focusFirstError(form: HTMLFormElement | null): void {
  const field = form?.querySelector<HTMLElement>('[aria-invalid=true]');
  const details = field?.closest('details');
  if (details) details.open = true;
  field?.focus();
}

type TroubleProps = {
  readonly form: Pick<ReturnType<typeof useForm>, 'errors' | 'busy' | 'reload'>;
  readonly canReload: boolean;
};

function FormTrouble({ form: { errors, busy, reload }, canReload }: TroubleProps) {
  if (errors.code === 'version_conflict' && canReload) {
    return (
      <Trouble>
        Someone else changed this since you opened the form. Nothing of yours is saved yet.{' '}
        <button type="button" class="quiet" disabled={busy} onClick={() => void reload()}>
          Load the current values
        </button>
      </Trouble>
    );
  }
  if (errors.code === 'idempotency_key_reused') {
    return (
      <Trouble>
        An earlier attempt of this form has succeeded, with other values. Close the form and look at the
        result before you try again.
      </Trouble>
    );
  }
  return errors.general === '' ? null : <Trouble>{errors.general}</Trouble>;
}

type ResultProps = { readonly onClose: () => void; readonly children: ComponentChildren };

function Result({ onClose, children }: ResultProps) {
  const close = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => close.current?.focus(), []);
  return (
    <div class="result">
      {children}
      <div class="buttons">
        <button ref={close} type="button" class="solid" onClick={onClose}>
          Close
        </button>
      </div>
    </div>
  );
}
