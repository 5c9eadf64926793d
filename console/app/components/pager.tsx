// The way from one page of a list to the next: lists are newest first.
import { linkTo, useRoute } from '../route.ts';

/** The page that is shown stands in the address, as `after`; in a list of a span of time with its beginning, as `since`. */
export function Pager({ next, since = '' }: { readonly next: string; readonly since?: string }) {
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
