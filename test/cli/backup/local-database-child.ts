// A process that opens the database of the data directory of its argument, prints a line, and uses it when its standard
// input ends. SIGTERM ends it as a second signal ends a command.
import { withLocalDatabase } from '../../../cli/backup/local-database.ts';
import { readSettings } from '../../../cli/serve/settings.ts';

const [dataDir] = process.argv.slice(2);
if (!dataDir) throw new Error('which data directory?');
process.on('SIGTERM', () => process.exit(143));
const inputEnds = new Promise((resolve) => process.stdin.once('end', resolve).resume());
await withLocalDatabase(readSettings({}, {}), dataDir, async (db) => {
  process.stdout.write('the database is open\n');
  await inputEnds;
  await db.pool.query('select from hub_migration limit 1');
});
