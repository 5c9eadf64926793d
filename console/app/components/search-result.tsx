// A list that follows a search: says how many rows it has, and whether a newer answer is on its way.
import type { ComponentChildren } from 'preact';

export type SearchResultProps = {
  /** The singular of what is listed; its plural ends with s. */
  readonly what: string;
  readonly count: number;
  /** Whether more rows are on the next page. */
  readonly hasMore: boolean;
  readonly isOutdated: boolean;
  readonly children: ComponentChildren;
};

export function SearchResult({ what, count, hasMore, isOutdated, children }: SearchResultProps) {
  const counted = `${count === 0 ? 'no' : count} ${what}${count === 1 ? '' : 's'}`;
  return (
    <div class={isOutdated ? 'outdated' : ''} aria-busy={isOutdated}>
      <p class="visually-hidden" role="status">
        {hasMore ? `the first ${counted}` : counted}
      </p>
      {children}
    </div>
  );
}
