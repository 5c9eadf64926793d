// A transaction of prepared SQL on one pooled connection.
import type { Pool, PoolClient } from 'pg';

/** Commits what `work` did, or rolls all of it back and throws what it threw. */
export async function inTransaction<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  let broken: unknown;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((rollbackError) => {
      broken = rollbackError;
    });
    throw error;
  } finally {
    client.release(broken !== undefined);
  }
}
