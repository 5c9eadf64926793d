// Walking the pages of a list.
import { expect } from 'chai';
import { pages } from '../../../cli/connect/calls.ts';
import { CliError } from '../../../cli/errors/failure.ts';

/** A list of `total` numbers that records the page sizes it is asked for. */
function list(total: number) {
  const asked: number[] = [];
  const fetchPage = async ({ pageSize, pageToken }: { pageSize: number; pageToken: string }) => {
    asked.push(pageSize);
    const from = Number(pageToken);
    const to = Math.min(total, from + pageSize);
    const items = Array.from({ length: to - from }, (_, index) => from + index);
    return { items, next: to < total ? String(to) : '' };
  };
  return { asked, fetchPage };
}

async function collect(found: AsyncIterable<readonly number[]>): Promise<number[]> {
  const items: number[] = [];
  for await (const page of found) items.push(...page);
  return items;
}

describe('listing pages', () => {
  it('continues to the end of the list', async () => {
    const { fetchPage } = list(2500);
    const found = await collect(pages(fetchPage));
    expect(found).to.have.length(2500);
    expect(found.at(-1)).to.equal(2499);
  });

  it('stops at the maximum without requesting more', async () => {
    const { asked, fetchPage } = list(5000);
    expect(await collect(pages(fetchPage, 1200))).to.have.length(1200);
    expect(asked).to.deep.equal([1000, 200]);
  });

  for (const [what, next] of [
    ['repeats its page token', () => 'again'],
    ['goes round in a circle of page tokens', (asked: number) => `page-${asked % 3}`],
  ] as const) {
    it(`fails if the hub ${what}`, async () => {
      let asked = 0;
      const fetchPage = async () => {
        if (++asked > 10) throw new Error('it is asked on and on');
        return { items: [asked], next: next(asked) };
      };
      const error = await collect(pages(fetchPage)).catch((thrown) => thrown);
      expect(error).to.be.instanceOf(CliError).and.include({ code: 'pages_endless', exitCode: 1 });
      expect(error.message).to.include('same page token twice');
    });
  }

  it('fails if the hub sends empty pages with a page token', async () => {
    let asked = 0;
    const fetchPage = async () => {
      if (++asked > 10) throw new Error('it is asked on and on');
      return { items: [], next: `page-${asked}` };
    };
    const error = await collect(pages(fetchPage)).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(CliError).and.include({ code: 'pages_endless', exitCode: 1 });
    expect(error.message).to.include('empty page');
  });
});
