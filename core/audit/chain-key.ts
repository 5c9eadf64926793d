// The key of the audit chain: random, and sealed with the master key.
//
// The sealed value, for `audit_key:<id>`, is the 32 bytes of the key, followed by the number of the link that
// the chain begins after (8 bytes) if it replaces another chain. Hubs read it for each batch of links, to
// notice that the row was removed, replaced or restored.
import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { ClientBase, Pool } from 'pg';
import { messageOf } from '../../lib/caught-error.ts';
import type { Clock } from '../clock.ts';
import { newUuid } from '../ids.ts';
import type { SealedColumn } from '../storage/secrets/reseal.ts';
import type { Sealer } from '../storage/secrets/sealing.ts';
import { ChainStopped } from './chain-stopped.ts';

export type ChainKey = {
  readonly id: string;
  readonly secret: KeyObject;
  /** Number of the link that the chain begins after; 0 unless it replaces another chain. */
  readonly beginsAfter: number;
};

const KEY_BYTES = 32;

const sealedFor = (id: string): string => `audit_key:${id}`;

/** The sealed column, to re-seal when master keys are rotated. The key itself stays the same. */
export const AUDIT_KEY: SealedColumn = {
  table: 'audit_key',
  idColumn: 'id',
  sealedColumn: 'sealed_key',
  about: sealedFor,
};

/** @throws ChainStopped if there is no key, or it was not sealed with a master key of this hub */
export async function readChainKey(db: Pool | ClientBase, sealer: Sealer): Promise<ChainKey> {
  const { rows } = await db.query<{ id: string; sealed: Buffer }>({
    name: 'read_audit_key',
    text: 'select id, sealed_key as sealed from audit_key limit 2',
  });
  const [row, other] = rows;
  if (row === undefined) throw new ChainStopped('key_missing', 'the key of the chain (audit_key) is missing');
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
    const reason = messageOf(error);
    throw new ChainStopped('key_missing', `cannot open the key of the chain: ${reason}`, { cause: error });
  }
}

/** Creates the key of a chain that begins after link number `beginsAfter`, and replaces any other key. */
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
  // An update, because the role of a serving hub must not delete keys.
  const { rowCount } = await client.query('select from audit_key');
  if ((rowCount ?? 0) > 1)
    throw new Error('the table audit_key has more than one key: delete all but one, as its owner');
  await client.query(
    rowCount === 1
      ? 'update audit_key set id = $1, sealed_key = $2, created_at = $3'
      : 'insert into audit_key (id, sealed_key, created_at) values ($1, $2, $3)',
    [id, sealer.seal(secret, sealedFor(id)), clock()],
  );
  const chainKey = { id, secret: createSecretKey(key), beginsAfter };
  key.fill(0);
  secret.fill(0);
  return chainKey;
}
