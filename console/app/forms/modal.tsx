// A modal dialog. The browser keeps the focus in it, and returns the focus when it closes.
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';

export type ModalProps = {
  readonly title: string;
  readonly isOpen: boolean;
  /** Called when the dialog closes, also by the Escape key. */
  readonly onClose: () => void;
  /** For forms with many fields. */
  readonly wide?: boolean;
  readonly children: () => ComponentChildren;
};

export function Modal({ title, isOpen, onClose, wide = false, children }: ModalProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  // Before the next key press: an effect after the next paint would lose what is typed until then.
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} class={wide ? 'wide-dialog' : ''} aria-labelledby={heading} onClose={onClose}>
      {isOpen && (
        <>
          <h2 id={heading}>{title}</h2>
          {children()}
        </>
      )}
    </dialog>
  );
}
