// Re-seals stored secrets with the first master key of the ring, row by row, while hubs serve.
import type { Pool, PoolClient } from 'pg';
import type { Clock } from '../../clock.ts';
import { inTransaction } from '../sql/transaction.ts';
import type { Sealer } from './sealing.ts';

/** A column with sealed values. The names become part of SQL statements and must come from the code. */
export type SealedColumn = {
  readonly table: string;
  /** A uuid. */
  readonly idColumn: string;
  /** A bytea; null values are skipped. */
  readonly sealedColumn: string;
  /** The `about` of the sealed value in the row with this id. */
  readonly about: (id: string) => string;
};

export type Resealed = {
  /** Number of values that were sealed with another key. */
  readonly resealed: number;
  /** Id of the key that seals them now. */
  readonly masterKeyId: string;
  /** Ids of the keys that this database no longer needs. */
  readonly dropped: readonly string[];
};

export type ResealOptions = {
  readonly pool: Pool;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly columns: readonly SealedColumn[];
  /** Records the result in the transaction that drops the old keys. */
  readonly record: (client: PoolClient, result: Resealed) => Promise<void>;
};

const BATCH = 50;
const FIRST = '00000000-0000-0000-0000-000000000000';

/**
 * Adds the sealing key to master_key_use, re-seals all values, and removes keys that seal nothing, so that
 * hubs can start without them. Every hub must seal with the new key before: a value that another hub seals
 * with an old key keeps that key in use.
 *
 * @throws Error that names the row if the ring has no key for it; values re-sealed before stay re-sealed
 */
export async function resealSecrets(options: ResealOptions): Promise<Resealed> {
  const { pool, sealer, clock, columns, record } = options;
  // Seals a probe to learn the id of the active key.
  const masterKeyId = sealer.keyIdOf(sealer.seal(Buffer.of(), 'nothing'));
  // First, so that no hub starts without the new key.
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

/** Repeats until no row is sealed with another key: rows that change meanwhile are read again. */
async function resealColumn(
  pool: Pool,
  sealer: Sealer,
  masterKeyId: string,
  { table, idColumn, sealedColumn, about }: SealedColumn,
): Promise<number> {
  let resealed = 0;
  for (let after = FIRST; ; ) {
    const { rows } = await pool.query<{ id: string; sealed: Buffer }>(
      `select ${idColumn} as id, ${sealedColumn} as sealed from ${table}
       where ${keyIdIn(sealedColumn)} <> $1 and ${idColumn} >= $2 order by ${idColumn} limit ${BATCH}`,
      [masterKeyId, after],
    );
    const last = rows.at(-1);
    if (last === undefined) {
      if (after === FIRST) return resealed;
      after = FIRST;
      continue;
    }
    after = last.id;
    for (const { id, sealed } of rows) {
      const plaintext = sealer.open(sealed, about(id));
      const resealedValue = sealer.seal(plaintext, about(id));
      plaintext.fill(0);
      // Only if the value is unchanged: a rotation meanwhile is newer.
      const { rowCount } = await pool.query(
        `update ${table} set ${sealedColumn} = $3 where ${idColumn} = $1 and ${sealedColumn} = $2`,
        [id, sealed, resealedValue],
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
  // No hub adds a key meanwhile, and concurrent re-seals take turns.
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
