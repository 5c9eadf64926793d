// Seals what is stored anew with the first master key of the ring, row by row, beside everything else that goes on.
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../clock.ts';
import type { Sealer } from './sealing.ts';
import { inTransaction } from './transaction.ts';

/** Where sealed values lie. The names are the schema's own: they become part of statements. */
export type SealedColumn = {
  readonly table: string;
  /** A uuid. */
  readonly idColumn: string;
  /** A bytea; rows without a value are passed over. */
  readonly sealedColumn: string;
  /** What the value of the row with this id is sealed for. */
  readonly about: (id: string) => string;
};

export type Resealed = {
  /** Values that were sealed with another key before. */
  readonly resealed: number;
  /** Id of the key that seals them now. */
  readonly masterKeyId: string;
  /** Ids of the keys that this database needs no longer. */
  readonly dropped: readonly string[];
};

export type ResealOptions = {
  readonly pool: Pool;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly columns: readonly SealedColumn[];
  /** Notes the result, in the transaction that drops the old keys. */
  readonly record: (client: PoolClient, result: Resealed) => Promise<void>;
};

const BATCH = 50;

/**
 * Notes the sealing key in master_key_use, re-seals, and takes the keys that seal nothing any more from there, so that
 * hubs can start without them. Every hub has to have the new key before, and to seal with it: what another hub seals
 * with an old key meanwhile keeps that key in use.
 *
 * @throws Error that names the row, if the ring holds no key for it; what is re-sealed by then stays so.
 */
export async function resealSecrets(options: ResealOptions): Promise<Resealed> {
  const { pool, sealer, clock, columns, record } = options;
  // Which of the keys seals is the sealer's own affair; what it seals tells.
  const masterKeyId = sealer.keyIdOf(sealer.seal(Buffer.of(), 'nothing'));
  // First, so that no hub starts without the key that secrets are about to need.
  await pool.query(
    'insert into master_key_use (key_id, since) values ($1, $2) on conflict (key_id) do nothing',
    [masterKeyId, clock()],
  );
  let resealed = 0;
  for (const column of columns) resealed += await resealColumn(pool, sealer, masterKeyId, column);
  return inTransaction(pool, async (client) => {
    const result = { resealed, masterKeyId, dropped: await dropUnused(client, masterKeyId, columns) };
    await record(client, result);
    return result;
  });
}

/** Bytes 2 to 9 of a sealed value are the id of its key: see `Sealer`. */
function keyIdIn(sealedColumn: string): string {
  return `encode(substring(${sealedColumn} from 2 for 8), 'hex')`;
}

/** Rows that somebody else changed in between come up again, until none is sealed with another key. */
async function resealColumn(
  pool: Pool,
  sealer: Sealer,
  masterKeyId: string,
  { table, idColumn, sealedColumn, about }: SealedColumn,
): Promise<number> {
  let resealed = 0;
  for (;;) {
    const { rows } = await pool.query<{ id: string; sealed: Buffer }>(
      `select ${idColumn} as id, ${sealedColumn} as sealed from ${table}
       where ${keyIdIn(sealedColumn)} <> $1 order by ${idColumn} limit ${BATCH}`,
      [masterKeyId],
    );
    if (rows.length === 0) return resealed;
    for (const { id, sealed } of rows) {
      const plaintext = sealer.open(sealed, about(id));
      const anew = sealer.seal(plaintext, about(id));
      plaintext.fill(0);
      // Only if it is still what was read: a rotation in between is the newer truth.
      const { rowCount } = await pool.query(
        `update ${table} set ${sealedColumn} = $3 where ${idColumn} = $1 and ${sealedColumn} = $2`,
        [id, sealed, anew],
      );
      resealed += rowCount ?? 0;
    }
  }
}

async function dropUnused(
  client: PoolClient,
  masterKeyId: string,
  columns: readonly SealedColumn[],
): Promise<string[]> {
  // Nobody notes a key meanwhile, and two who drop take turns.
  await client.query('lock table master_key_use in share row exclusive mode');
  const inUse = columns.map(
    ({ table, sealedColumn }) =>
      `select ${keyIdIn(sealedColumn)} from ${table} where ${sealedColumn} is not null`,
  );
  const { rows } = await client.query<{ keyId: string }>(
    `delete from master_key_use where key_id <> $1 and key_id not in (${inUse.join(' union ')})
     returning key_id as "keyId"`,
    [masterKeyId],
  );
  return rows.map(({ keyId }) => keyId);
}
