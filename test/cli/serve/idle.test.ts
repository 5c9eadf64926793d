// What a hub without requests costs PostgreSQL.
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { spawnHub } from '../../support/hub/hub-process.ts';
import { createDatabaseWithMonths, query } from '../../support/postgres/databases.ts';

const SECONDS = 6;
/** For the first passes of the background tasks. PostgreSQL reports the transactions of an idle session up to 10 s late. */
const FIRST_PASSES_SECONDS = 12;

describe('an idle hub', () => {
  it('runs at most 25 transactions a second', async () => {
    const [dataDir, url] = [await makeDataDir(), await createDatabaseWithMonths()];
    const hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: url });
    try {
      await setTimeout(FIRST_PASSES_SECONDS * 1_000);
      const before = await transactions(url);
      await setTimeout(SECONDS * 1_000);
      expect((await transactions(url)) - before).to.be.within(1, SECONDS * 25);
    } finally {
      await hub.stop();
      await discard(dataDir);
    }
  });
});

async function transactions(url: string): Promise<number> {
  const [row] = await query<{ count: number }>(
    url,
    'select xact_commit::int as count from pg_stat_database where datname = current_database()',
  );
  return row?.count ?? 0;
}
