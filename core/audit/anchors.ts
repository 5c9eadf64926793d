// Anchors: records of pruned links, from which the rest of the chain can be verified.
//
// mac = HMAC-SHA-256(key of the chain, RFC 8785 form of {firstSeq, hash, prunedAt, seq}). Only a hub can
// create an anchor, so a deletion cannot be passed off as pruning.
import type { Pool, PoolClient } from 'pg';
import { type ChainHead, type ChainOptions, isMacOf, lockChain, macOf, timestampColumn } from './chain.ts';
import { type ChainKey, readChainKey } from './chain-key.ts';

/** Links `firstSeq` to `seq` were pruned; `hash` is the hash of link `seq`. */
export type Anchor = ChainHead & { readonly firstSeq: number; readonly prunedAt: string };

export type ReadAnchor = Anchor & { readonly isGenuine: boolean };

/** All anchors, in the order of their links. */
export async function readAnchors(db: Pool | PoolClient, key: ChainKey): Promise<ReadAnchor[]> {
  type Row = { seq: string; firstSeq: string; hash: string; prunedAt: string; mac: Buffer };
  const { rows } = await db.query<Row>(
    `select seq, first_seq as "firstSeq", encode(hash, 'hex') as hash,
            ${timestampColumn('pruned_at')} as "prunedAt", mac
     from audit_anchor order by first_seq`,
  );
  return rows.map(({ seq, firstSeq, hash, prunedAt, mac }) => {
    const anchor = { seq: Number(seq), firstSeq: Number(firstSeq), hash, prunedAt };
    return { ...anchor, isGenuine: isMacOf(key, anchor, mac) };
  });
}

/**
 * Writes an anchor for each run of links whose entries have ids below `floor`, in the transaction that prunes
 * them. There can be several runs, because entries at the end of a month may be linked between entries of the
 * next.
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
  // What separates the runs: links that stay, and earlier anchors.
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
    if (end >= next) await insertAnchor(client, key, { firstSeq: next, seq: end, prunedAt });
    next = Number(other.last) + 1;
  }
}

/**
 * The anchor ends at the last existing link of the run: it must not cover links that are missing after it.
 */
async function insertAnchor(
  client: PoolClient,
  key: ChainKey,
  { firstSeq, seq: end, prunedAt }: Omit<Anchor, 'hash'>,
): Promise<void> {
  const { rows } = await client.query<{ seq: string; hash: string }>(
    `select seq, encode(hash, 'hex') as hash from audit_link
     where seq between $1 and $2 order by seq desc limit 1`,
    [firstSeq, end],
  );
  const [link] = rows;
  if (link === undefined) return;
  const anchor = { firstSeq, seq: Number(link.seq), hash: link.hash, prunedAt };
  await client.query(
    `insert into audit_anchor (seq, first_seq, hash, pruned_at, mac) values ($1, $2, decode($3, 'hex'),
     $4, $5)`,
    [anchor.seq, firstSeq, anchor.hash, prunedAt, macOf(key, anchor)],
  );
}
