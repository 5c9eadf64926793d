// The recorded head: the newest link, written to the database in the transaction that links. It reveals a log
// that was truncated or replaced by an older copy.
//
// mac = HMAC-SHA-256(key of the chain, RFC 8785 form of {hash, headSeq}). With access to the database alone,
// only an old row can be put back; head-file.ts protects against that. The row exists from the start of the
// chain. Without it nothing is linked: otherwise, deleting the chain would make the hub start a clean one
// over the remaining log.
import type { ClientBase, Pool, PoolClient } from 'pg';
import { type ChainHead, isMacOf, macOf, readHead } from './chain.ts';
import type { ChainKey } from './chain-key.ts';
import { ChainStopped } from './chain-stopped.ts';

/** @throws ChainStopped if the row is missing, or was not written with this key */
export async function requireRecordedHead(db: Pool | ClientBase, key: ChainKey): Promise<ChainHead> {
  const { rows } = await db.query<{ seq: string; hash: string; mac: Buffer; keyId: string }>(
    `select seq, encode(hash, 'hex') as hash, mac, key_id as "keyId" from audit_head`,
  );
  const [row] = rows;
  if (row !== undefined) {
    const head = { seq: Number(row.seq), hash: row.hash };
    if (isMacOf(key, signedForm(head), row.mac) && row.keyId === key.id) return head;
  }
  throw new ChainStopped(
    'head_altered',
    'the recorded head (audit_head) is missing, or was not written by a hub with this key',
  );
}

/**
 * The link that the next one follows: the recorded head or the last link, whichever is later. If the chain
 * ends before the recorded head, the gap remains visible.
 *
 * @throws ChainStopped
 */
export async function endOfChain(client: PoolClient, key: ChainKey): Promise<ChainHead> {
  const [recorded, last] = [await requireRecordedHead(client, key), await readHead(client)];
  return recorded.seq < last.seq ? last : recorded;
}

/** Call it in the transaction that links, or begins the chain. */
export async function writeHead(client: PoolClient, key: ChainKey, head: ChainHead): Promise<void> {
  await client.query(
    `insert into audit_head (id, seq, hash, mac, key_id) values (1, $1, decode($2, 'hex'), $3, $4)
     on conflict (id) do update
     set seq = excluded.seq, hash = excluded.hash, mac = excluded.mac, key_id = excluded.key_id`,
    [head.seq, head.hash, macOf(key, signedForm(head)), key.id],
  );
}

function signedForm({ seq, hash }: ChainHead): object {
  return { hash, headSeq: seq };
}
