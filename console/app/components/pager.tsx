// Links to the first and the next page of a list.
import { linkTo, useRoute } from '../route.ts';

type PagerProps = {
  /** The token of the next page; empty on the last page. */
  readonly next: string;
  readonly since?: string | undefined;
  /**
   * The shown page is not yet the one of the address. After a change of the filters, the hub would refuse `next`.
   */
  readonly isOutdated?: boolean;
};

/** The address has the page token as `after` and the start of the time range as `since`. */
export function Pager({ next, since = '', isOutdated = false }: PagerProps) {
  const { path, query } = useRoute();
  const isLater = query['after'] !== undefined;
  if (!isLater && next === '') return null;
  return (
    <nav class="pager" aria-label="Pages">
      {isLater ? (
        <a href={linkTo(path, { ...query, after: undefined, since: undefined })}>← Newest</a>
      ) : (
        <span />
      )}
      {next !== '' && (
        <a
          href={linkTo(path, { ...query, after: next, since })}
          // Not `inert`, so that the link keeps the focus.
          aria-disabled={isOutdated}
          onClick={(event) => isOutdated && event.preventDefault()}
        >
          Older →
        </a>
      )}
    </nav>
  );
}
