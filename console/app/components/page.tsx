// The frame of a view: its heading, which receives the focus on navigation, and its actions.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export type PageProps = {
  readonly title: string;
  /** Shown beside the heading. */
  readonly beside?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
};

let isFirst = true;

export function Page({ title, beside, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Hub console`;
    // Not on the first page, where the browser already starts at the top.
    if (!isFirst) heading.current?.focus({ preventScroll: true });
    if (!isFirst) scrollTo(0, 0);
    isFirst = false;
  }, [title]);
  return (
    <>
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {beside}
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}
