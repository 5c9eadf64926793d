// Commits a restore, and determines the outcome if the connection is lost during the commit.
import { setTimeout } from 'node:timers/promises';
import type pg from 'pg';
import type { DatabaseAddress } from '../storage/connection/database-address.ts';
import { reasonOf, takesWrites } from '../storage/database.ts';
import { openCopyConnection } from './copy-connection.ts';

/** The transaction was rolled back: the database is still empty. */
export class NotCommitted extends Error {
  override readonly name = 'NotCommitted';
}

/** It is unknown whether the transaction was committed. */
export class UnknownOutcome extends Error {
  override readonly name = 'UnknownOutcome';
}

export type CommitOptions = {
  readonly client: pg.Client;
  readonly address: DatabaseAddress;
  /**
   * Checks on another connection whether the database has the rows of the transaction. Waits some seconds for
   * the transaction to end.
   */
  readonly isCommitted: (client: pg.Client) => Promise<boolean>;
  /** How long to retry while the database does not answer. */
  readonly retryForMs: number;
};

/** Resolves if the transaction is committed. @throws NotCommitted, UnknownOutcome */
export async function commitAndConfirm({ client, ...question }: CommitOptions): Promise<void> {
  const failure = await client.query('commit').then(
    ({ command }) => (command === 'COMMIT' ? undefined : new Error('the server rolled it back')),
    (error: unknown) => error,
  );
  if (failure === undefined) return;
  // Also after an error of the server: a server that shuts down reports one even if it has committed.
  if (await confirmCommit(question, failure)) return;
  throw new NotCommitted(
    'the backup is not restored, and the database is still empty: the commit failed ' +
      `(${reasonOf(failure)}). Run it again`,
    { cause: failure },
  );
}

const PAUSE_MS = 500;

async function confirmCommit(
  { address, isCommitted, retryForMs }: Omit<CommitOptions, 'client'>,
  failure: unknown,
): Promise<boolean> {
  const latest = performance.now() + retryForMs;
  for (;;) {
    try {
      const client = await openCopyConnection(address, 'hubctl backup restore');
      try {
        // A standby may not have the transaction yet.
        if (!(await takesWrites(client))) throw new Error('the server accepts no writes');
        return await isCommitted(client);
      } finally {
        await client.end().catch(() => {}); // the result or the first error counts
      }
    } catch (error) {
      if (performance.now() > latest) {
        throw new UnknownOutcome(
          `the connection was lost during the commit (${reasonOf(failure)}), and the database does not ` +
            `answer (${reasonOf(error)}): it may hold the backup or be empty`,
          { cause: error },
        );
      }
      await setTimeout(PAUSE_MS);
    }
  }
}
