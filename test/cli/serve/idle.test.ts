// What a hub without requests costs PostgreSQL.
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { spawnHub } from '../../support/hub/hub-process.ts';
import { createDatabaseWithMonths, query } from '../../support/postgres/databases.ts';

const SECONDS = 5;
/** On a busy machine, the first window may contain transactions that PostgreSQL reports late. */
const WINDOWS = 2;

describe('an idle hub', () => {
  it('runs at most 25 transactions a second', async () => {
    const [dataDir, url] = [await makeDataDir(), await createDatabaseWithMonths()];
    const hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: url });
    try {
      await setTimeout(2_000); // first passes of the background tasks
      const counts = [];
      for (let window = 0; window < WINDOWS; window++) {
        const before = await transactions(url);
        await setTimeout(SECONDS * 1_000);
        counts.push((await transactions(url)) - before);
      }
      expect(Math.min(...counts)).to.be.within(1, SECONDS * 25);
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
