// A process that owns the embedded PostgreSQL in the directory of its argument, prints its log, and exits without a stop
// when its standard input ends, as after a second signal.
import { openDataDir } from '../../../../core/storage/data-dir.ts';
import { ownPostgres } from '../../../../core/storage/embedded-postgres/supervise.ts';

const [path] = process.argv.slice(2);
if (!path) throw new Error('which data directory?');
const log = (line: string): void => void process.stdout.write(`${line}\n`);
const { url } = await ownPostgres({ dataDir: await openDataDir(path), log, onLost: () => {} });
log(url);
process.stdin.on('end', () => process.exit()).resume();
