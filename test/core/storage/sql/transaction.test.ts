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

  it('commits what was sent and what was waited for, in order', async () => {
    const counted = await inTransaction(pool, async (client, send) => {
      send(insert(1));
      const { rows } = await client.query('select count(*)::int from item');
      send(insert(2));
      return rows[0].count;
    });
    expect(counted).to.equal(1);
    expect(await items()).to.deep.equal([1, 2]);
  });

  it('is undone as a whole if something that was sent fails, even what was sent last', async () => {
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

  it('names the failure, not what could not be asked after it', async () => {
    const failure = await failureOf(
      inTransaction(pool, async (client, send) => {
        send(insert(1));
        send(insert(1));
        await client.query('select count(*) from item');
      }),
    );
    expect(failure).to.include({ code: '23505' });
  });

  it('is not taken for done if its work ignores a failure', async () => {
    const failure = await failureOf(
      inTransaction(pool, async (client, send) => {
        send(insert(1));
        await client.query('select 1 / 0').catch(() => {});
      }),
    );
    expect(failure).to.include({ message: 'the transaction was rolled back' });
    expect(await items()).to.deep.equal([]);
  });

  it('is undone if its work gives up, and leaves the connection good for the next one', async () => {
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
