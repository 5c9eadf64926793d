// The way from one page of a list to the next: lists are newest first.
import { linkTo, useRoute } from '../route.ts';

/** The page that is shown stands in the address, as `after`. */
export function Pager({ next }: { readonly next: string }) {
  const { path, query } = useRoute();
  const isLater = query['after'] !== undefined;
  if (!isLater && next === '') return null;
  return (
    <nav class="pager" aria-label="Pages">
      {isLater ? <a href={linkTo(path, { ...query, after: undefined })}>← Newest</a> : <span />}
      {next !== '' && <a href={linkTo(path, { ...query, after: next })}>Older →</a>}
    </nav>
  );
}
