// Measures how long the tables of a database are locked for other clients.
import pg from 'pg';

export type LockWatch = {
  /** Ends the watch and resolves with the milliseconds from the first to the last observed lock. */
  stop(): Promise<number>;
};

/** Polls as fast as the server responds. */
export async function watchLocks(databaseUrl: string): Promise<LockWatch> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  let isWatching = true;
  let [first, last] = [0, 0];
  const watch = async (): Promise<void> => {
    while (isWatching) {
      const asked = performance.now();
      const { rowCount } = await client.query({
        name: 'locks',
        text: `select from pg_locks l join pg_class c on c.oid = l.relation and c.relkind in ('r', 'p')
               where l.mode = 'AccessExclusiveLock' and l.granted
                 and l.database = (select oid from pg_database where datname = current_database()) limit 1`,
      });
      if (rowCount === 0) continue;
      first ||= asked;
      last = performance.now();
    }
  };
  const watching = watch();
  return {
    async stop() {
      isWatching = false;
      await watching;
      await client.end();
      return last - first;
    },
  };
}
