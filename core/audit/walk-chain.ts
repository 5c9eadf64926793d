// Walks the audit chain link by link and finds the first break.
import { setImmediate } from 'node:timers/promises';
import type { Pool } from 'pg';
import { formatId } from '../ids.ts';
import { type ReadAnchor, readAnchors } from './anchors.ts';
import { beginOf, type ChainHead, HASHES_PER_TURN, type Link, linkHash, readLinks } from './chain.ts';
import type { ChainKey } from './chain-key.ts';

/** A problem of the audit log, and the row it is about. */
export type Break = {
  readonly problem:
    | 'row_altered'
    | 'row_missing'
    | 'row_backdated'
    | 'row_unlinked'
    | 'link_missing'
    | 'tail_missing'
    | 'head_differs'
    | 'head_altered'
    | 'key_missing'
    | 'entries_unlinked';
  /** Number of the link; undefined for a row that has none. */
  readonly seq?: number;
  /** `aud_…`; undefined if it is unknown. */
  readonly entryId?: string;
  /** A sentence for people. */
  readonly detail: string;
};

export type WalkOptions = {
  readonly pool: Pool;
  readonly key: ChainKey;
  /** Links that the chain must contain. */
  readonly heads: readonly ChainHead[];
  readonly signal?: AbortSignal | undefined;
  /** Number of the link to stop after; by default the end of the chain. */
  readonly last?: number;
};

export type Walk = {
  /** The last link before the break, or the end of the chain. */
  readonly head: ChainHead;
  /** Number of entries before it. */
  readonly entries: number;
  readonly broken: Break | undefined;
};

const BATCH = 500;
/** Longer than any transaction, and than the difference between the clocks of two hubs. */
const BACKDATED_MS = 10 * 60 * 1000;

/**
 * Reads a batch at a time and holds no connection in between.
 *
 * @throws the signal's reason when it is aborted
 */
export async function walkChain(options: WalkOptions): Promise<Walk> {
  const { pool, key, heads, signal, last = Number.POSITIVE_INFINITY } = options;
  const findAnchor = createFindAnchor(pool, key);
  let head = beginOf(key);
  let entries = 0;
  let newest = '';
  let broken: Break | undefined;
  const moveTo = ({ seq, hash }: ChainHead): void => {
    head = { seq, hash };
    if (heads.some((expected) => expected.seq === seq && expected.hash !== hash)) {
      broken = { problem: 'head_differs', seq, detail: `link ${seq} differs from the recorded one` };
    }
  };
  /** Skips pruned links, up to the link with this number. */
  const followAnchors = async (next: number): Promise<void> => {
    while (head.seq + 1 < next && !broken) {
      const anchor = await findAnchor(head.seq + 1);
      if (anchor === undefined) return;
      if (anchor.isGenuine) moveTo(anchor);
      else broken = linkMissing(head.seq + 1, 'links are missing, and no hub pruned them');
    }
  };
  for (let isDone = false; !isDone && !broken; ) {
    signal?.throwIfAborted();
    const links = (await readLinks(pool, head.seq, BATCH)).filter(({ seq }) => seq <= last);
    for (const [index, link] of links.entries()) {
      if (index % HASHES_PER_TURN === 0) await setImmediate(); // requests run in between
      await followAnchors(link.seq);
      broken ??= checkLink(key, link, head, newest);
      if (broken) break;
      moveTo(link);
      entries++;
      if (link.entry && link.entry.at > newest) newest = link.entry.at;
    }
    isDone = links.length < BATCH;
  }
  await followAnchors(Number.POSITIVE_INFINITY);
  return { head, entries, broken };
}

/** Finds the anchor that covers a link. Reads the anchors again if it is not among the known ones. */
function createFindAnchor(pool: Pool, key: ChainKey) {
  let anchors: readonly ReadAnchor[] = [];
  const find = (seq: number): ReadAnchor | undefined =>
    anchors.find((anchor) => anchor.firstSeq <= seq && seq <= anchor.seq);
  return async (seq: number): Promise<ReadAnchor | undefined> => {
    const known = find(seq);
    if (known !== undefined) return known;
    anchors = await readAnchors(pool, key);
    return find(seq);
  };
}

function checkLink(key: ChainKey, link: Link, previous: ChainHead, newest: string): Break | undefined {
  const { seq, entry, hash, linkedAt } = link;
  const row = { seq, entryId: formatId('aud', link.entryId) };
  if (seq > previous.seq + 1) return linkMissing(previous.seq + 1, `link ${previous.seq + 1} is missing`);
  if (entry === undefined) return { problem: 'row_missing', ...row, detail: 'the row is missing' };
  // A second link with the same number was not made by a hub.
  if (seq <= previous.seq || linkHash(key, previous, linkedAt, entry) !== hash) {
    return { problem: 'row_altered', ...row, detail: 'the row or its link differs from what was linked' };
  }
  // Entries are linked in the order of time, soon after their commit, so a much older one cannot follow.
  if (newest !== '' && Date.parse(newest) - Date.parse(entry.at) > BACKDATED_MS) {
    const detail =
      `the row is dated ${entry.at} but follows one of ${newest}: ` +
      'it was inserted later, or a clock was wrong';
    return { problem: 'row_backdated', ...row, detail };
  }
  return undefined;
}

function linkMissing(seq: number, detail: string): Break {
  return { problem: 'link_missing', seq, detail };
}
