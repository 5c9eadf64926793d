// The queue's tables, created by hubs that start together.
import { expect } from 'chai';
import pg from 'pg';
import { prepareJobTables } from '../../../../core/payment/callbacks/job-queue.ts';
import { createDatabase } from '../../../support/postgres/databases.ts';

describe('the tables of the queue', () => {
  it('are created once by hubs that start at the same time', async () => {
    const connectionString = await createDatabase();
    const pools = Array.from({ length: 8 }, () => new pg.Pool({ connectionString, max: 1 }));
    try {
      // A connection caches the result of a failed lookup.
      await Promise.all(pools.map((pool) => pool.query(`select to_regclass('version')`)));
      const outcomes = await Promise.allSettled(
        pools.map((pool) => prepareJobTables({ pool, schema: 'public' })),
      );
      expect(
        outcomes.map((outcome) => outcome.status === 'rejected' && String(outcome.reason)),
      ).to.deep.equal(pools.map(() => false));
      const { rows } = (await pools[0]?.query('select count(*)::int from version')) ?? { rows: [] };
      expect(rows).to.deep.equal([{ count: 1 }]);
    } finally {
      await Promise.all(pools.map((pool) => pool.end()));
    }
  });
});
