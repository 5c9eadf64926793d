// The floor under the cases with a database: the peer's own statements, prepared, without HTTP, JSON or signatures.
// `node sql.ts <case> <seconds>` on DATABASE_URL prints how many it did in a second.
import pg from 'pg';
import { takeSeat } from '../peer/activate.ts';
import { journal } from '../peer/callback.ts';
import { readStatus } from '../peer/status.ts';
import { machineOf } from '../stock.ts';

const CLIENTS = 32;

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: CLIENTS });
const [, , caseName = '', seconds = '1'] = process.argv;
const { rows: licenses } = await pool.query<{ id: string; key_hash: Buffer }>(
  'select id, key_hash from license order by id',
);
let begun = 0;

/** One request of the case; each takes the next license, and a round of all licenses the next machine. */
async function work(): Promise<void> {
  const index = begun++;
  const license = licenses[index % licenses.length];
  if (license === undefined) throw new Error('there are no licenses');
  switch (caseName) {
    case 'status':
      await readStatus(pool, license.id, machineOf(0));
      return;
    case 'activate':
      await takeSeat(pool, license.key_hash, {
        machineFingerprint: machineOf(1 + Math.floor(index / licenses.length)),
      });
      return;
    case 'reactivate':
      await takeSeat(pool, license.key_hash, { machineFingerprint: machineOf(0) });
      return;
    case 'callback':
      await journal(pool, license.id, {
        status: 'UNATTEMPTED',
        tran_id: license.id,
        val_id: 'V',
        amount: '100.00',
      });
      return;
    default:
      throw new Error(`no statements for ${caseName}`);
  }
}

const start = performance.now();
const end = start + Number(seconds) * 1_000;
const drive = async (): Promise<void> => {
  while (performance.now() < end) await work();
};
await Promise.all(Array.from({ length: CLIENTS }, drive));
process.stdout.write(`${JSON.stringify({ perSecond: (begun * 1_000) / (performance.now() - start) })}\n`);
await pool.end();
