// The frame of a view: its heading, which receives the focus on navigation, its actions, and what it shows.
import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { type Live, PageRefresh } from '../poll-hub.ts';
import { Loaded } from './loaded.tsx';

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
  // Before the next key press: after the next paint, the reader may already be at another element.
  useLayoutEffect(() => {
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

type OfData<T> = (data: T) => ComponentChildren;

export type LivePageProps<T> = {
  readonly title: string;
  readonly live: Live<T>;
  readonly beside?: OfData<T>;
  readonly actions?: OfData<T>;
  readonly children: OfData<T>;
};

/** A page of what the hub answers. Its forms load it again. */
export function LivePage<T>({ title, live, beside, actions, children }: LivePageProps<T>) {
  const { data, refresh } = live;
  const shown = (part?: OfData<T>): ComponentChildren => data !== undefined && part?.(data);
  return (
    <PageRefresh.Provider value={refresh}>
      <Page title={title} beside={shown(beside)} actions={shown(actions)}>
        <Loaded live={live}>{children}</Loaded>
      </Page>
    </PageRefresh.Provider>
  );
}

export type SectionProps = {
  readonly title: ComponentChildren;
  /** Shown at the other end of the line of the heading. */
  readonly beside?: ComponentChildren;
  readonly isCard?: boolean;
  readonly children: ComponentChildren;
};

/** A part of a page, named by its heading. */
export function Section({ title, beside, isCard = false, children }: SectionProps) {
  const id = useId();
  const heading = <h2 id={id}>{title}</h2>;
  return (
    <section class={isCard ? 'card' : ''} aria-labelledby={id}>
      {beside ? (
        <div class="section-head">
          {heading}
          {beside}
        </div>
      ) : (
        heading
      )}
      {children}
    </section>
  );
}
