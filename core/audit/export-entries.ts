// Exports the entries of the audit log along the chain.
import type { Pool } from 'pg';
import { type ChainedEntry, type ChainHead, readHash, readLinks } from './chain.ts';

export type LinkedEntry = ChainHead & {
  readonly linkedAt: string;
  readonly previousHash: string;
  readonly entry: ChainedEntry;
};

const BATCH = 500;

/**
 * Yields batches of entries in the order of the chain, after link number `after`. Pruned and missing entries
 * are left out.
 *
 * @param begin The start of the current chain; links of an earlier chain may precede it.
 */
export async function* exportEntries(
  pool: Pool,
  after: number,
  begin: ChainHead,
): AsyncGenerator<LinkedEntry[]> {
  let previous: ChainHead = { seq: after, hash: (await readHash(pool, after)) ?? '' };
  for (;;) {
    const links = await readLinks(pool, previous.seq, BATCH);
    const entries: LinkedEntry[] = [];
    for (const { seq, hash, linkedAt, entry } of links) {
      if (seq === begin.seq + 1) previous = begin;
      const previousHash = seq === previous.seq + 1 ? previous.hash : ((await readHash(pool, seq - 1)) ?? '');
      if (entry !== undefined) entries.push({ seq, hash, linkedAt, previousHash, entry });
      previous = { seq, hash };
    }
    if (entries.length > 0) yield entries;
    if (links.length < BATCH) return;
  }
}
