// A commit that does not wait for the disk is one statement's own choice.
import { expect } from 'chai';
import pg from 'pg';
import { UNHURRIED } from '../../../core/storage/unhurried.ts';
import { createDatabase } from '../../support/postgres.ts';

describe('an unhurried write', () => {
  it('does not wait for the disk, and the next one does', async () => {
    const client = new pg.Client({ connectionString: await createDatabase() });
    await client.connect();
    try {
      await client.query('create table note (id int primary key, text text)');
      await client.query(`insert into note values (1, '')`);
      const mode = `current_setting('synchronous_commit') as mode`;
      const { rows: unhurried } = await client.query(
        `update note set text = 'lease' from ${UNHURRIED} where id = 1 returning ${mode}`,
      );
      const { rows: next } = await client.query(`update note set text = 'paid' returning ${mode}`);
      expect([...unhurried, ...next]).to.deep.equal([{ mode: 'off' }, { mode: 'on' }]);
    } finally {
      await client.end();
    }
  });
});
