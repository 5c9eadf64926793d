// Runs changes in a savepoint, so that a violated constraint undoes only these changes.
import { DatabaseError, type PoolClient } from 'pg';

/**
 * Rolls the changes back if they violate a constraint, and returns the message of the database. Other errors
 * fail the transaction.
 */
export async function inGrantSavepoint<T>(
  client: PoolClient,
  change: () => Promise<T>,
): Promise<{ readonly result: T } | { readonly refused: string }> {
  await client.query('savepoint grant_purchases');
  try {
    const result = await change();
    await client.query('release savepoint grant_purchases');
    return { result };
  } catch (error) {
    if (!violatesConstraint(error)) throw error;
    await client.query('rollback to savepoint grant_purchases');
    return { refused: error.message };
  }
}

/** SQLSTATE classes 22 (invalid value) and 23 (constraint). */
function violatesConstraint(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && /^2[23]/.test(error.code ?? '');
}
