// Prints how many bytes of a statement outlive minor collections, in old space, on average. Run it with a small
// young generation: node --max-semi-space-size=1.
import { getHeapSpaceStatistics } from 'node:v8';
import pg from 'pg';
import { clientClass } from '../../../../core/storage/connection/client.ts';
import { parseConnectionString } from '../../../../core/storage/connection/connection-string.ts';

const STATEMENTS = 5_000;
const target = parseConnectionString(process.argv[2] ?? '');
const pool = new pg.Pool({ Client: clientClass(target), max: 1, query_timeout: 20_000 });
const client = await pool.connect();
const run = async (statements: number): Promise<void> => {
  for (let index = 0; index < statements; index++) {
    await client.query({ name: 'sum', text: 'select $1::int + 1 as sum', values: [index] });
  }
};
const oldBytes = (): number =>
  getHeapSpaceStatistics().find((space) => space.space_name === 'old_space')?.space_used_size ?? 0;

await run(STATEMENTS);
const before = oldBytes();
await run(STATEMENTS);
process.stdout.write(`${(oldBytes() - before) / STATEMENTS}\n`);
client.release();
await pool.end();
