// A commit that does not wait for the disk is one statement's own choice.
import { expect } from 'chai';
import pg from 'pg';
import { ASYNC_COMMIT } from '../../../../core/storage/sql/async-commit.ts';
import { createDatabase } from '../../../support/postgres/databases.ts';

describe('a write with asynchronous commit', () => {
  it('does not wait for the disk, but the next write does', async () => {
    const client = new pg.Client({ connectionString: await createDatabase() });
    await client.connect();
    try {
      await client.query('create table note (id int primary key, text text)');
      await client.query(`insert into note values (1, '')`);
      const mode = `current_setting('synchronous_commit') as mode`;
      const { rows: written } = await client.query(
        `update note set text = 'lease' from ${ASYNC_COMMIT} where id = 1 returning ${mode}`,
      );
      const { rows: next } = await client.query(`update note set text = 'paid' returning ${mode}`);
      expect([...written, ...next]).to.deep.equal([{ mode: 'off' }, { mode: 'on' }]);
    } finally {
      await client.end();
    }
  });
});
