// Walks the pages of a list, one page in memory at a time.

const PAGE_SIZE = 1000;

/**
 * The pages of a list until its end or until `max` items.
 *
 * @param fetchPage Calls the hub for one page: `next` is empty on the last one.
 */
export async function* pages<T>(
  fetchPage: (page: {
    pageSize: number;
    pageToken: string;
  }) => Promise<{ items: readonly T[]; next: string }>,
  max = Number.POSITIVE_INFINITY,
): AsyncGenerator<readonly T[]> {
  let left = max;
  let pageToken = '';
  do {
    const { items, next } = await fetchPage({ pageSize: Math.min(left, PAGE_SIZE), pageToken });
    yield items;
    left -= items.length;
    pageToken = next;
  } while (pageToken !== '' && left > 0);
}
