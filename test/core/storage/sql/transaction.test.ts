// Statements that are sent without waiting for each other.
import { expect } from 'chai';
import pg from 'pg';
import { inTransaction } from '../../../../core/storage/sql/transaction.ts';
import { createDatabase } from '../../../support/postgres/databases.ts';

/** What it rejects with. */
const failureOf = (work: Promise<unknown>): Promise<object> =>
  work.then(
    () => expect.fail('it was committed'),
    (error) => error,
  );

describe('a transaction', () => {
  let pool: pg.Pool;
  before(async () => {
    pool = new pg.Pool({ connectionString: await createDatabase(), max: 1, pipeline: true } as pg.PoolConfig);
    await pool.query('create table item (id int primary key)');
  });
  after(() => pool.end());
  beforeEach(() => pool.query('truncate item'));
  const items = async () => (await pool.query('select id from item order by id')).rows.map(({ id }) => id);
  const insert = (id: number) => ({ name: 'insert', text: 'insert into item values ($1)', values: [id] });

  it('commits queued and awaited statements in order', async () => {
    const counted = await inTransaction(pool, async (client, send) => {
      send(insert(1));
      const { rows } = await client.query('select count(*)::int from item');
      send(insert(2));
      return rows[0].count;
    });
    expect(counted).to.equal(1);
    expect(await items()).to.deep.equal([1, 2]);
  });

  it('is rolled back as a whole if any queued statement fails, even the last', async () => {
    const failure = await failureOf(
      inTransaction(pool, async (_client, send) => {
        send(insert(1));
        send(insert(1));
        send(insert(2));
      }),
    );
    expect(failure).to.include({ code: '23505' });
    expect(await items()).to.deep.equal([]);
  });

  it('reports the failure, not the statements skipped after it', async () => {
    const failure = await failureOf(
      inTransaction(pool, async (client, send) => {
        send(insert(1));
        send(insert(1));
        await client.query('select count(*) from item');
      }),
    );
    expect(failure).to.include({ code: '23505' });
  });

  it('fails even if its work ignores an error', async () => {
    const failure = await failureOf(
      inTransaction(pool, async (client, send) => {
        send(insert(1));
        await client.query('select 1 / 0').catch(() => {});
      }),
    );
    expect(failure).to.include({ message: 'the transaction was rolled back' });
    expect(await items()).to.deep.equal([]);
  });

  it('is rolled back if its work throws, and leaves the connection usable', async () => {
    const failure = await failureOf(
      inTransaction(pool, async (_client, send) => {
        send(insert(1));
        throw new Error('enough');
      }),
    );
    expect(failure).to.include({ message: 'enough' });
    await inTransaction(pool, async (_client, send) => send(insert(2)));
    expect(await items()).to.deep.equal([2]);
  });
});
