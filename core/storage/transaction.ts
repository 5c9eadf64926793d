// A transaction of prepared SQL on one pooled connection.
import type { Pool, PoolClient } from 'pg';

export type TransactionOptions = {
  /** Milliseconds to wait for any lock; then SQLSTATE 55P03. By default as long as a statement may take. */
  readonly lockTimeoutMs?: number;
};

/** Commits what `work` did, or rolls all of it back and throws what it threw. */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
  { lockTimeoutMs }: TransactionOptions = {},
): Promise<T> {
  const client = await pool.connect();
  let broken: unknown;
  try {
    // In one round trip.
    await client.query(
      lockTimeoutMs === undefined ? 'begin' : `begin; set local lock_timeout = ${lockTimeoutMs}`,
    );
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

/** Somebody else held a lock for too long, or in a circle: alone, or a moment later, the same work may well succeed. */
export function isLockTrouble(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === '55P03' || code === '40P01';
}
