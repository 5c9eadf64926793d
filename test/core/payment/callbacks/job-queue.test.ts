// The job queue: its tables, created by hubs that start together, and its jobs.
import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import pg from 'pg';
import { createJobs, prepareJobTables } from '../../../../core/payment/callbacks/job-queue.ts';
import { createDatabase, createMigratedDatabase } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';

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

describe('the jobs of the queue', () => {
  it('fail and are retried one by one, and those of the same batch complete', async () => {
    const pool = new pg.Pool({ connectionString: await createMigratedDatabase(), max: 4 });
    const errors: unknown[] = [];
    const options = { schema: 'public', startAfterMs: 1_000, expireAfterMs: 30_000, retryDelayMs: 60_000 };
    const jobs = await createJobs({ pool, ...options, onError: (error) => errors.push(error) });
    try {
      const ids = Array.from({ length: 20 }, () => randomUUID());
      const [failing] = ids;
      await jobs.enqueue(ids);
      const handled: string[] = [];
      await jobs.work(async (id) => {
        handled.push(id);
        if (id === failing) throw new Error('this one fails');
      });
      const states = async (): Promise<Record<string, number>> => {
        const { rows } = await pool.query('select state, count(*)::int from job group by state');
        return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
      };
      await until(async () => {
        const { completed, retry } = await states();
        return completed === 19 && retry === 1;
      }, 'one job has failed and all others are completed');
      expect(await states()).to.deep.equal({ completed: 19, retry: 1 });
      expect(handled.toSorted()).to.deep.equal(ids.toSorted());
      const { rows } = await pool.query(
        `select id, output->>'message' as error from job where state = 'retry'`,
      );
      expect(rows).to.deep.equal([{ id: failing, error: 'this one fails' }]);
      expect(errors).to.deep.equal([]);
    } finally {
      await jobs.stop(5_000);
      await pool.end();
    }
  });
});
