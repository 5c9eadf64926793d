// Paging by id and by time, over lists that are held in memory.
import { expect } from 'chai';
import fc from 'fast-check';
import { HubError } from '../../../../core/errors.ts';
import { formatId, newUuid, type Uuid } from '../../../../core/ids.ts';
import { readPage, readSpanPage, type SpanPosition } from '../../../../core/storage/sql/page.ts';

/** Rows with ids in the order they were made, and how a table would be read. */
function table(size: number) {
  const rows = Array.from({ length: size }, () => ({ id: newUuid() }));
  const newestFirst = rows.map((row) => row.id).sort((a, b) => (a < b ? 1 : -1));
  const read = async (after: Uuid | undefined, limit: number) =>
    newestFirst
      .filter((id) => after === undefined || id < after)
      .slice(0, limit)
      .map((id) => ({ id }));
  return { newestFirst, read };
}

describe('a page', () => {
  it('leads to the next until all items were listed once, newest first', async () => {
    const sizes = fc.record({ rows: fc.integer({ min: 0, max: 40 }), page: fc.integer({ min: 1, max: 15 }) });
    await fc.assert(
      fc.asyncProperty(sizes, async ({ rows, page }) => {
        const { newestFirst, read } = table(rows);
        const listed: string[] = [];
        let pages = 0;
        let pageToken = '';
        do {
          const { items, nextPageToken } = await readPage({ pageSize: page, pageToken }, 'lic', read);
          listed.push(...items.map(({ id }) => id));
          pageToken = nextPageToken;
          pages++;
        } while (pageToken !== '');
        expect(listed).to.deep.equal(newestFirst);
        expect(pages).to.equal(Math.max(1, Math.ceil(rows / page)));
      }),
      { numRuns: 50 },
    );
  });

  it('of a period continues after the last item, even if it was deleted', async () => {
    const some = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(some, fc.integer({ min: 1, max: 7 }), async (times, pageSize) => {
        const rows = times.map((ms) => ({ id: newUuid(), settledAt: new Date(ms) }));
        const inOrder = rows.toSorted(
          (one, other) => Number(other.settledAt) - Number(one.settledAt) || (one.id < other.id ? 1 : -1),
        );
        let left = inOrder;
        const read = async (after: SpanPosition | undefined, limit: number) =>
          left.filter((row) => after === undefined || isLater(row, after)).slice(0, limit);
        const listed: string[] = [];
        let pageToken = '';
        do {
          const page = await readSpanPage({ pageSize, pageToken }, 'use', 'settledAt', read);
          listed.push(...page.items.map(({ id }) => id));
          pageToken = page.nextPageToken;
          left = left.filter(({ id }) => id !== listed.at(-1)); // the item of the token is deleted
        } while (pageToken !== '');
        expect(listed).to.deep.equal(inOrder.map(({ id }) => id));
      }),
      { numRuns: 50 },
    );
  });

  it('has 50 items by default', async () => {
    const { items } = await readPage({ pageSize: 0, pageToken: '' }, 'lic', table(60).read);
    expect(items).to.have.length(50);
  });

  it('is refused for an invalid token or the token of another list', async () => {
    const { read } = table(3);
    for (const pageToken of ['x', newUuid(), formatId('seat', newUuid()), `${formatId('lic', newUuid())} `]) {
      const error = await readPage({ pageSize: 2, pageToken }, 'lic', read).catch((thrown) => thrown);
      expect(error, pageToken).to.be.instanceOf(HubError);
      expect(error).to.include({ code: 'page_token_invalid', field: 'pageToken' });
    }
  });
});

function isLater(row: { id: string; settledAt: Date }, { at, id }: SpanPosition): boolean {
  return row.settledAt < at || (row.settledAt.getTime() === at.getTime() && row.id < id);
}
