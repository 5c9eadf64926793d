// A process that starts the embedded PostgreSQL in the directory of its argument, prints it as JSON, and stops it when its
// standard input ends; killed before that, it leaves the server behind.
import { startEmbeddedPostgres } from '../../../../core/storage/embedded-postgres/start.ts';

const [dataDir] = process.argv.slice(2);
if (!dataDir) throw new Error('which data directory?');
const postgres = await startEmbeddedPostgres({ dataDir });
process.stdout.write(`${JSON.stringify(postgres)}\n`);
process.stdin.on('end', () => postgres.stop()).resume();
