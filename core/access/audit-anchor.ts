// Anchors: what is left in the chain of links that were pruned, so that it can be verified from the next one on.
//
// mac = HMAC-SHA-256(key of the chain, RFC 8785 form of {firstSeq, hash, prunedAt, seq}): only a hub can say that rows
// were pruned; whoever deletes rows cannot make an anchor for them.
import { createHmac, timingSafeEqual } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Pool, PoolClient } from 'pg';
import { type ChainHead, instant, lockChain } from './audit-chain.ts';
import type { ChainOptions } from './audit-chainer.ts';
import { type ChainKey, readChainKey } from './audit-key.ts';

/** Links from `firstSeq` to `seq` were pruned; `hash` is that of the last one. */
export type Anchor = ChainHead & { readonly firstSeq: number; readonly prunedAt: string };

export type ReadAnchor = Anchor & { readonly isGenuine: boolean };

/** All anchors, by the number of the first link they stand for. */
export async function readAnchors(db: Pool | PoolClient, key: ChainKey): Promise<Map<number, ReadAnchor>> {
  const { rows } = await db.query<{
    seq: string;
    firstSeq: string;
    hash: string;
    prunedAt: string;
    mac: Buffer;
  }>(
    `select seq, first_seq as "firstSeq", encode(hash, 'hex') as hash, ${instant('pruned_at')} as "prunedAt", mac
     from audit_anchor order by first_seq`,
  );
  return new Map(
    rows.map(({ seq, firstSeq, hash, prunedAt, mac }) => {
      const anchor = { seq: Number(seq), firstSeq: Number(firstSeq), hash, prunedAt };
      const right = macOf(key, anchor);
      const isGenuine = mac.length === right.length && timingSafeEqual(mac, right);
      return [anchor.firstSeq, { ...anchor, isGenuine }];
    }),
  );
}

/**
 * Leaves an anchor for each run of links whose entries have ids below `floor`, in the transaction that prunes them. Runs,
 * because entries of the last moments of a month may have been linked among those of the next.
 */
export async function anchorChain(
  client: PoolClient,
  { sealer, clock }: ChainOptions,
  floor: string,
): Promise<void> {
  await lockChain(client);
  const key = await readChainKey(client, sealer);
  const { rows: ends } = await client.query<{ last: string | null }>(
    'select max(seq) as last from audit_link where entry_id < $1',
    [floor],
  );
  const last = Number(ends[0]?.last ?? 0);
  // What lies between the runs: links that stay, and what was pruned before.
  const { rows: others } = await client.query<{ first: string; last: string }>(
    `select seq as first, seq as last from audit_link where entry_id >= $1 and seq <= $2
     union all select first_seq, seq from audit_anchor where seq <= $2
     order by 1`,
    [floor, last],
  );
  const prunedAt = clock().toISOString();
  let next = 1;
  for (const other of [...others, { first: String(last + 1), last: '' }]) {
    const end = Number(other.first) - 1;
    if (end >= next) await leaveAnchor(client, key, { firstSeq: next, seq: end, prunedAt });
    next = Number(other.last) + 1;
  }
}

/** Up to the last link of the run that is there: what is gone behind it stays to be seen. */
async function leaveAnchor(
  client: PoolClient,
  key: ChainKey,
  { firstSeq, seq: end, prunedAt }: Omit<Anchor, 'hash'>,
): Promise<void> {
  const { rows } = await client.query<{ seq: string; hash: string }>(
    `select seq, encode(hash, 'hex') as hash from audit_link where seq between $1 and $2 order by seq desc limit 1`,
    [firstSeq, end],
  );
  const [link] = rows;
  if (link === undefined) return;
  const anchor = { firstSeq, seq: Number(link.seq), hash: link.hash, prunedAt };
  await client.query(
    `insert into audit_anchor (seq, first_seq, hash, pruned_at, mac) values ($1, $2, decode($3, 'hex'), $4, $5)`,
    [anchor.seq, firstSeq, anchor.hash, prunedAt, macOf(key, anchor)],
  );
}

function macOf({ secret }: ChainKey, { firstSeq, seq, hash, prunedAt }: Anchor): Buffer {
  return createHmac('sha256', secret)
    .update(canonicalize({ firstSeq, seq, hash, prunedAt }) ?? '')
    .digest();
}
