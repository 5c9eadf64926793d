// A confirmation dialog; destructive actions require a typed word.
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { announce } from '../announce.ts';
import { explain } from '../explain.ts';
import { Trouble } from './loaded.tsx';

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
  /** Performs the action. Resolves to the text to announce. */
  readonly run: (reason: string) => Promise<string>;
};

export function Confirm(props: ConfirmProps) {
  const { action, question, children, word, asksReason = false, dangerous = false, run } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const title = useId();
  const [isOpen, setOpen] = useState(false);
  const [typed, setTyped] = useState('');
  const [reason, setReason] = useState('');
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState('');
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  const open = (): void => {
    setTyped('');
    setReason('');
    setFailure('');
    setOpen(true);
  };
  const isReady =
    (word === undefined || typed.trim().toUpperCase() === word.toUpperCase()) &&
    (!asksReason || reason.trim() !== '');
  const confirm = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!isReady || busy) return;
    setBusy(true);
    try {
      const done = await run(reason.trim());
      setOpen(false);
      announce(done);
    } catch (error) {
      setFailure(explain(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" class={dangerous ? 'danger' : ''} onClick={open}>
        {action}
      </button>
      <dialog ref={dialog} aria-labelledby={title} onClose={() => setOpen(false)}>
        {isOpen && (
          <form onSubmit={confirm}>
            <h2 id={title}>{question}</h2>
            {children}
            {asksReason && (
              <label>
                <span>Reason (stored in the audit log)</span>
                <input
                  value={reason}
                  maxLength={500}
                  required
                  onInput={(event) => setReason(event.currentTarget.value)}
                />
              </label>
            )}
            {word !== undefined && (
              <label>
                <span>
                  Type <code>{word}</code> to confirm
                </span>
                <input
                  value={typed}
                  autocomplete="off"
                  spellcheck={false}
                  required
                  onInput={(event) => setTyped(event.currentTarget.value)}
                />
              </label>
            )}
            {failure !== '' && <Trouble>{failure}</Trouble>}
            <div class="buttons">
              <button type="button" onClick={() => setOpen(false)}>
                Cancel
              </button>
              <button type="submit" class={dangerous ? 'danger solid' : 'solid'} disabled={!isReady || busy}>
                {busy ? 'Working …' : action}
              </button>
            </div>
          </form>
        )}
      </dialog>
    </>
  );
}
