// Helpers for calls to the hub: no deadline, required fields, pages of a list.
import { CliError, EXIT } from '../errors/failure.ts';

/** No deadline: the hub limits the call itself, because it waits for a provider or processes a table. */
export const NO_DEADLINE = { timeoutMs: 0 };

/**
 * Requires a field that the hub always sets, although its message type is optional.
 * @throws Error if the field is missing: the server is no hub, or a broken one
 */
export function requireField<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`The hub's reply has no ${name}.`);
  return value;
}

const PAGE_SIZE = 1000;

/**
 * The pages of a list until its end or until `max` items, one in memory at a time.
 * @param fetchPage Reads one page: `next` is empty on the last one.
 * @throws CliError `pages_endless` if the hub's page tokens repeat
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
  const followed = new Set<string>();
  for (;;) {
    const { items, next } = await fetchPage({ pageSize: Math.min(left, PAGE_SIZE), pageToken });
    yield items;
    left -= items.length;
    pageToken = next;
    if (pageToken === '' || left <= 0) return;
    // Without these checks, a broken hub or proxy would be called forever.
    if (items.length === 0) throw pagesEndless('sent an empty page that is not the last one');
    if (followed.has(pageToken)) throw pagesEndless('sent the same page token twice');
    followed.add(pageToken);
  }
}

function pagesEndless(what: string): CliError {
  return new CliError(
    'pages_endless',
    EXIT.failed,
    `The hub ${what}, so the list is incomplete. Check the hub's version and the proxies between it and hubctl.`,
  );
}

/**
 * The views of a list of the hub. Reads nothing until it is used.
 * @param list The RPC that returns a page for a request.
 * @param name The member of its reply with the items.
 */
export function readPages<
  Request extends object,
  Reply extends { readonly nextPageToken: string } & Readonly<Record<Name, readonly unknown[]>>,
  Name extends string,
  T,
>(
  list: (request: Request) => Promise<Reply>,
  request: NoInfer<Request>,
  name: Name,
  view: (item: Reply[Name][number]) => T,
): (max?: number) => AsyncGenerator<readonly T[]> {
  const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
    const reply = await list({ ...request, ...page });
    const items: readonly Reply[Name][number][] = reply[name];
    return { items: items.map((item) => view(item)), next: reply.nextPageToken };
  };
  return (max) => pages(fetchPage, max);
}
