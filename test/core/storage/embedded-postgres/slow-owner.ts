// A hub that starts the PostgreSQL of the data directory of its argument, prints a line, and connects to it only when its
// standard input ends.
import { readSync, writeSync } from 'node:fs';
import { openDataDir } from '../../../../core/storage/data-dir.ts';
import { ownPostgres } from '../../../../core/storage/embedded-postgres/supervise.ts';

const [dataDir] = process.argv.slice(2);
if (!dataDir) throw new Error('which data directory?');
await ownPostgres({
  dataDir: await openDataDir(dataDir),
  log(line) {
    if (!line.includes(' runs on ')) return;
    writeSync(1, `${line}\n`);
    readSync(0, Buffer.alloc(1)); // blocks the process
  },
  onLost: () => {},
});
