// The head of the chain, noted in the database in the transaction that makes the links: a log whose newest rows were
// removed, or that was exchanged for an older copy of itself, ends before it.
//
// mac = HMAC-SHA-256(key of the chain, RFC 8785 form of {hash, headSeq}): whoever has nothing but the database cannot
// note an earlier head, unless he kept the row of that time. Against that each hub keeps a note of its own: head-file.ts.
// The note is there from the beginning of the chain on. Without it nothing is linked: otherwise, deleting the chain would make
// the hub start a clean one over the remaining log.
import { createHmac, timingSafeEqual } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { ClientBase, Pool, PoolClient } from 'pg';
import { type ChainHead, readHead } from './audit-chain.ts';
import { ChainStopped } from './audit-chain-stopped.ts';
import type { ChainKey } from './audit-key.ts';

/** `altered`: no hub noted what is there. */
export type NotedHead = ChainHead | 'altered' | undefined;

async function readNotedHead(db: Pool | ClientBase, key: ChainKey): Promise<NotedHead> {
  const { rows } = await db.query<{ seq: string; hash: string; mac: Buffer; keyId: string }>(
    `select seq, encode(hash, 'hex') as hash, mac, key_id as "keyId" from audit_head`,
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const head = { seq: Number(row.seq), hash: row.hash };
  const right = macOf(key, head);
  const isGenuine = row.mac.length === right.length && timingSafeEqual(row.mac, right);
  return isGenuine && row.keyId === key.id ? head : 'altered';
}

/** @throws ChainStopped if the note is gone, or no hub made it with this key */
export async function requireNotedHead(db: Pool | ClientBase, key: ChainKey): Promise<ChainHead> {
  const noted = await readNotedHead(db, key);
  if (noted === undefined || noted === 'altered') {
    const detail =
      'the head that is noted in the database (audit_head) is gone, or no hub noted it with this key';
    throw new ChainStopped('head_altered', detail);
  }
  return noted;
}

/**
 * Where the next link goes: after the noted head if the chain ends before it by now, so that the gap stays to be seen;
 * else after the last link there is.
 *
 * @throws ChainStopped
 */
export async function endOfChain(client: PoolClient, key: ChainKey): Promise<ChainHead> {
  const [noted, last] = [await requireNotedHead(client, key), await readHead(client)];
  return noted.seq < last.seq ? last : noted;
}

/** In the transaction that makes the links, or begins the chain. */
export async function writeHead(client: PoolClient, key: ChainKey, head: ChainHead): Promise<void> {
  await client.query(
    `insert into audit_head (id, seq, hash, mac, key_id) values (1, $1, decode($2, 'hex'), $3, $4)
     on conflict (id) do update
     set seq = excluded.seq, hash = excluded.hash, mac = excluded.mac, key_id = excluded.key_id`,
    [head.seq, head.hash, macOf(key, head), key.id],
  );
}

function macOf({ secret }: ChainKey, { seq, hash }: ChainHead): Buffer {
  return createHmac('sha256', secret)
    .update(canonicalize({ hash, headSeq: seq }) ?? '')
    .digest();
}
