// The head of the chain, noted in the database in the transaction that makes the links: a log whose newest rows were
// removed, or that was exchanged for an older copy of itself, ends before it.
//
// mac = HMAC-SHA-256(key of the chain, RFC 8785 form of {hash, headSeq}): whoever has nothing but the database cannot
// note an earlier head, unless he kept the row of that time. Against that each hub keeps a note of its own: head-file.ts.
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Pool, PoolClient } from 'pg';
import { type ChainHead, GENESIS, readHead } from './audit-chain.ts';
import type { ChainOptions } from './audit-chainer.ts';

/** `altered`: no hub noted what is there. */
export type NotedHead = ChainHead | 'altered' | undefined;

export async function readNotedHead(db: Pool | PoolClient, key: KeyObject): Promise<NotedHead> {
  const { rows } = await db.query<{ seq: string; hash: string; mac: Buffer }>(
    `select seq, encode(hash, 'hex') as hash, mac from audit_head`,
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  const head = { seq: Number(row.seq), hash: row.hash };
  const right = macOf(key, head);
  return row.mac.length === right.length && timingSafeEqual(row.mac, right) ? head : 'altered';
}

/**
 * Where the next link goes: after the noted head if the chain ends before it by now, so that the gap stays to be seen;
 * else after the last link there is, which a hub that does not know of these notes may have made.
 */
export async function endOfChain(client: PoolClient, key: KeyObject): Promise<ChainHead> {
  const [noted, last] = [await readNotedHead(client, key), await readHead(client)];
  return noted === undefined || noted === 'altered' || noted.seq < last.seq ? last : noted;
}

/** In the transaction that makes the links. A note that no hub made is left as it is, to be found. */
export async function noteHead(client: PoolClient, key: KeyObject, head: ChainHead): Promise<void> {
  if ((await readNotedHead(client, key)) === 'altered') return;
  await client.query(
    `insert into audit_head (id, seq, hash, mac) values (1, $1, decode($2, 'hex'), $3)
     on conflict (id) do update set seq = excluded.seq, hash = excluded.hash, mac = excluded.mac`,
    [head.seq, head.hash, macOf(key, head)],
  );
}

/** For a chain that is older than these notes. */
export async function ensureHeadNoted({ pool, key }: ChainOptions): Promise<void> {
  const head = await readHead(pool);
  if (head.seq === GENESIS.seq) return;
  await pool.query(
    `insert into audit_head (id, seq, hash, mac) values (1, $1, decode($2, 'hex'), $3) on conflict do nothing`,
    [head.seq, head.hash, macOf(key, head)],
  );
}

function macOf(key: KeyObject, { seq, hash }: ChainHead): Buffer {
  return createHmac('sha256', key)
    .update(canonicalize({ hash, headSeq: seq }) ?? '')
    .digest();
}
