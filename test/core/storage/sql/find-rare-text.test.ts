// Searches by trigrams: a rare text gives ids, a frequent one is detected without its index.
import { expect } from 'chai';
import pg from 'pg';
import { findRare } from '../../../../core/storage/sql/find-rare-text.ts';
import { createMigratedDatabase } from '../../../support/postgres/databases.ts';

describe('a search by trigrams', () => {
  let pool: pg.Pool;
  before(async () => {
    pool = new pg.Pool({ connectionString: await createMigratedDatabase(), max: 1 });
    // Of the names, 'early' is that of the 30 oldest customers, 'late' of the 60 newest, 'seldom' of 2 % of the others.
    await pool.query(
      `insert into customer (id, name, created_at)
       select ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
              'customer ' || case when n <= 30 then 'early' when n > 940 then 'late' when n % 50 = 0 then 'seldom' else 'often' end, now()
       from generate_series(1, 1000) n`,
    );
  });
  after(() => pool?.end());

  const find = (text: string, most: number) =>
    findRare(pool, {
      from: 'customer c',
      where: 'c.search_grams @> search_grams($1)',
      values: [text],
      most,
    });

  it('returns the ids of at most the given number of rows', async () => {
    expect(await find('early', 30)).to.have.length(30);
    expect(await find('early', 29)).to.equal(undefined);
    expect(await find('late', 60)).to.have.length(60);
    expect(await find('seldom', 100)).to.have.length(18);
    expect(await find('nobody', 100)).to.deep.equal([]);
  });

  it('returns undefined for a text that more than a fifth of the rows contain, however many it may return', async () => {
    expect(await find('often', 10_000)).to.equal(undefined);
    expect(await find('customer', 10_000)).to.equal(undefined);
  });
});
