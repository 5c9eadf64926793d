// The key of the audit chain: random, made once, sealed with the master key.
//
// Sealed for `audit_key:<id>` are the 32 bytes of the key and, of a chain that was begun in the place of another one, the
// number of the link that it begins after, in 8 bytes. It is read again for each batch of links: hubs notice that the row
// was removed, replaced or brought back.
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { newUuid } from '../ids.ts';
import type { SealedColumn } from '../storage/reseal.ts';
import type { Sealer } from '../storage/sealing.ts';
import { ChainStopped } from './audit-chain-stopped.ts';

export type ChainKey = {
  readonly id: string;
  readonly secret: KeyObject;
  /** Number of the link that the chain begins after; 0 unless it was begun in the place of another one. */
  readonly beginsAfter: number;
};

const KEY_BYTES = 32;

const sealedFor = (id: string): string => `audit_key:${id}`;

/** Where the key lies, to be re-sealed when master keys are rotated. It stays the same key, and the chain holds. */
export const AUDIT_KEY: SealedColumn = {
  table: 'audit_key',
  idColumn: 'id',
  sealedColumn: 'sealed_key',
  about: sealedFor,
};

/** @throws ChainStopped if there is no key, or none that the master keys of this hub have sealed */
export async function readChainKey(db: Pool | ClientBase, sealer: Sealer): Promise<ChainKey> {
  const { rows } = await db.query<{ id: string; sealed: Buffer }>({
    name: 'read_audit_key',
    text: 'select id, sealed_key as sealed from audit_key limit 2',
  });
  const [row, other] = rows;
  if (row === undefined) throw new ChainStopped('key_missing', 'the key of the chain (audit_key) is gone');
  if (other !== undefined) throw new ChainStopped('key_missing', 'the table audit_key has more than one key');
  return { id: row.id, ...open(sealer, row) };
}

function open(sealer: Sealer, { id, sealed }: { id: string; sealed: Buffer }): Omit<ChainKey, 'id'> {
  try {
    const bytes = sealer.open(sealed, sealedFor(id));
    const secret = createSecretKey(bytes.subarray(0, KEY_BYTES));
    const beginsAfter = bytes.length === KEY_BYTES ? 0 : Number(bytes.readBigUInt64BE(KEY_BYTES));
    bytes.fill(0);
    return { secret, beginsAfter };
  } catch (error) {
    const why = error instanceof Error ? error.message : error;
    throw new ChainStopped('key_missing', `the key of the chain cannot be opened: ${why}`, { cause: error });
  }
}

/** Makes the key of a chain that begins after the link with this number, in the place of any other key. */
export async function replaceChainKey(
  client: ClientBase,
  sealer: Sealer,
  clock: Clock,
  beginsAfter: number,
): Promise<ChainKey> {
  const [id, key] = [newUuid(), randomBytes(KEY_BYTES)];
  const start = Buffer.alloc(8);
  start.writeBigUInt64BE(BigInt(beginsAfter));
  const secret = beginsAfter === 0 ? key : Buffer.concat([key, start]);
  // In place: the role that serves must not delete a key.
  const { rowCount: kept } = await client.query('select from audit_key');
  if ((kept ?? 0) > 1)
    throw new Error('audit_key has more than one key: delete all but one as the owner of it');
  await client.query(
    kept === 1
      ? 'update audit_key set id = $1, sealed_key = $2, created_at = $3'
      : 'insert into audit_key (id, sealed_key, created_at) values ($1, $2, $3)',
    [id, sealer.seal(secret, sealedFor(id)), clock()],
  );
  const made = { id, secret: createSecretKey(key), beginsAfter };
  key.fill(0);
  secret.fill(0);
  return made;
}
