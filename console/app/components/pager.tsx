// Links to the first and the next page of a list.
import { linkTo, useRoute } from '../route.ts';

/** The address has the page token as `after` and the start of the time range as `since`. */
export function Pager({ next, since = '' }: { readonly next: string; readonly since?: string | undefined }) {
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
      {next !== '' && <a href={linkTo(path, { ...query, after: next, since })}>Older →</a>}
    </nav>
  );
}
