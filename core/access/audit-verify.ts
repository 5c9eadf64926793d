// Verification of the audit log: whether the chain holds, and the first row that breaks it.
import type { KeyObject } from 'node:crypto';
import type { Pool } from 'pg';
import { formatId } from '../ids.ts';
import { type ReadAnchor, readAnchors } from './audit-anchor.ts';
import { type ChainHead, GENESIS, type Link, linkHash, readLinks } from './audit-chain.ts';
import type { ChainOptions } from './audit-chainer.ts';
import { readNotedHead } from './audit-head.ts';

/** What is wrong, and with which row. */
export type Break = {
  readonly problem:
    | 'row_altered'
    | 'row_missing'
    | 'row_backdated'
    | 'row_unlinked'
    | 'link_missing'
    | 'tail_missing'
    | 'head_differs'
    | 'head_altered';
  /** Number of the link; undefined for a row that has none. */
  readonly seq?: number;
  /** `aud_…`; undefined where nobody can tell any more. */
  readonly entryId?: string;
  /** In a sentence. */
  readonly detail: string;
};

export type Verification = {
  /** Where the chain stands, or stood before it broke. */
  readonly head: ChainHead;
  /** How many rows it held for. */
  readonly entries: number;
  /** Undefined if the chain holds. */
  readonly broken: Break | undefined;
};

const BATCH = 500;
/** Longer than any transaction takes, and than the clocks of two hubs differ. */
const BACKDATED_MS = 10 * 60 * 1000;

export type VerifyOptions = {
  /** Heads that were noted before: the chain must still have them. */
  readonly notes?: readonly ChainHead[];
  /** Ends the walk. */
  readonly signal?: AbortSignal;
};

/**
 * Walks what is linked, a batch at a time: no connection is kept in between, and other hubs may link and prune
 * meanwhile.
 *
 * @throws the signal's reason, when it is aborted
 */
export async function verifyAuditLog(
  { pool, key }: Pick<ChainOptions, 'pool' | 'key'>,
  { notes = [], signal }: VerifyOptions = {},
): Promise<Verification> {
  // Before the walk: what is linked after this, it may or may not meet.
  const noted = await readNotedHead(pool, key);
  const heads = noted === undefined || noted === 'altered' ? notes : [...notes, noted];
  const { head, entries, broken } = await walk({ pool, key, heads, signal });
  const problem =
    broken ??
    (await findUnlinked(pool, signal)) ?? // before the next, since it can name the row
    cutShort(head, heads) ??
    (await findAlteredHead(pool, key, head));
  return { head, entries, broken: problem };
}

/** The first break among the links of entries with ids below `floor`, and of what comes before them in the chain. */
export async function findBreakBelow(
  { pool, key }: Pick<ChainOptions, 'pool' | 'key'>,
  floor: string,
): Promise<Break | undefined> {
  const { rows } = await pool.query<{ last: string | null }>(
    'select max(seq) as last from audit_link where entry_id < $1',
    [floor],
  );
  const { broken } = await walk({
    pool,
    key,
    heads: [],
    signal: undefined,
    last: Number(rows[0]?.last ?? 0),
  });
  return broken ?? (await findUnlinked(pool, undefined, floor));
}

type Walk = {
  readonly pool: Pool;
  readonly key: KeyObject;
  readonly heads: readonly ChainHead[];
  readonly signal: AbortSignal | undefined;
  /** Number of the link to stop after; by default the end of the chain. */
  readonly last?: number;
};

async function walk({
  pool,
  key,
  heads,
  signal,
  last = Number.POSITIVE_INFINITY,
}: Walk): Promise<Verification> {
  const anchorAfter = createFindAnchor(pool, key);
  let head = GENESIS;
  let entries = 0;
  let newest = '';
  let broken: Break | undefined;
  const goTo = ({ seq, hash }: ChainHead): void => {
    head = { seq, hash };
    if (heads.some((noted) => noted.seq === seq && noted.hash !== hash)) broken = differs(head);
  };
  /** Over what was pruned, as far as to this link. */
  const followAnchors = async (next: number): Promise<void> => {
    while (head.seq + 1 < next && !broken) {
      const anchor = await anchorAfter(head.seq);
      if (anchor === undefined) return;
      if (anchor.isGenuine) goTo(anchor);
      else broken = missing(head.seq + 1, 'links are gone, and no hub pruned them');
    }
  };
  for (let isDone = false; !isDone && !broken; ) {
    signal?.throwIfAborted();
    const links = (await readLinks(pool, head.seq, BATCH)).filter(({ seq }) => seq <= last);
    for (const link of links) {
      await followAnchors(link.seq);
      broken ??= breakAt(key, link, head, newest);
      if (broken) break;
      goTo(link);
      entries++;
      if (link.entry && link.entry.at > newest) newest = link.entry.at;
    }
    isDone = links.length < BATCH;
  }
  await followAnchors(Number.POSITIVE_INFINITY);
  return { head, entries, broken };
}

/** The anchor that stands for the link after the one with this number; it may have been left since the last look. */
function createFindAnchor(pool: Pool, key: KeyObject) {
  let anchors: readonly ReadAnchor[] = [];
  const find = (seq: number): ReadAnchor | undefined =>
    anchors.find((anchor) => anchor.firstSeq <= seq + 1 && seq + 1 <= anchor.seq);
  return async (seq: number): Promise<ReadAnchor | undefined> => {
    const known = find(seq);
    if (known !== undefined) return known;
    anchors = [...(await readAnchors(pool, key)).values()];
    return find(seq);
  };
}

function breakAt(key: KeyObject, link: Link, previous: ChainHead, newest: string): Break | undefined {
  const { seq, entry, hash, linkedAt } = link;
  const row = { seq, entryId: formatId('aud', link.entryId) };
  if (seq > previous.seq + 1) return missing(previous.seq + 1, `link ${previous.seq + 1} is gone`);
  if (entry === undefined) return { problem: 'row_missing', ...row, detail: 'the row is gone' };
  // A link whose number is taken is none that a hub made.
  if (seq <= previous.seq || linkHash(key, previous, linkedAt, entry) !== hash) {
    return { problem: 'row_altered', ...row, detail: 'the row or its link is not what was linked' };
  }
  // Entries are linked in the order of their ids, soon after their commit: an older one cannot come that much later.
  if (newest !== '' && Date.parse(newest) - Date.parse(entry.at) > BACKDATED_MS) {
    const detail = `the row says ${entry.at}, and came after one of ${newest}: it was inserted later, or a clock was wrong`;
    return { problem: 'row_backdated', ...row, detail };
  }
  return undefined;
}

function missing(seq: number, detail: string): Break {
  return { problem: 'link_missing', seq, detail };
}

function differs({ seq }: ChainHead): Break {
  return { problem: 'head_differs', seq, detail: `link ${seq} is not the one that was noted` };
}

function cutShort(head: ChainHead, heads: readonly ChainHead[]): Break | undefined {
  const noted = Math.max(...heads.map(({ seq }) => seq));
  if (noted <= head.seq) return undefined;
  const detail = `the chain ends at link ${head.seq}, before the one that was noted (${noted})`;
  return { problem: 'tail_missing', seq: head.seq + 1, detail };
}

async function findAlteredHead(pool: Pool, key: KeyObject, head: ChainHead): Promise<Break | undefined> {
  const noted = await readNotedHead(pool, key);
  if (noted !== 'altered' && (noted !== undefined || head.seq === GENESIS.seq)) return undefined;
  const detail = 'the head that is noted in the database (audit_head) is gone, or no hub noted it';
  return { problem: 'head_altered', detail };
}

/**
 * A row, with an id below this one, without a link that does not wait for one, or one that waits and is gone. One statement for each batch: an entry
 * is noted in the transaction that writes it, and leaves the queue in the one that links it.
 */
async function findUnlinked(
  pool: Pool,
  signal: AbortSignal | undefined,
  below = 'ffffffff-ffff-ffff-ffff-ffffffffffff',
): Promise<Break | undefined> {
  const { rows: waiting } = await pool.query<{ id: string }>(
    `select u.entry_id as id from audit_unlinked u
     where u.entry_id < $1 and not exists (select from audit_entry e where e.id = u.entry_id)
     order by u.entry_id limit 1`,
    [below],
  );
  const [gone] = waiting;
  if (gone) return unlinked('row_missing', gone.id, 'the row is gone, and was never linked');
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    signal?.throwIfAborted();
    const { rows } = await pool.query<{ id: string; unlinked: boolean }>({
      name: 'find_unlinked_audit_entries',
      // audit_entry_pkey, audit_link_pkey
      text: `select e.id, l.entry_id is null and u.entry_id is null as unlinked
             from (select id from audit_entry where id > $1 and id < $3 order by id limit $2) e
             left join audit_link l on l.entry_id = e.id
             left join audit_unlinked u on u.entry_id = e.id
             order by e.id`,
      values: [after, BATCH, below],
    });
    const found = rows.find((row) => row.unlinked);
    if (found) return unlinked('row_unlinked', found.id, 'the row has no link: its link was removed');
    if (rows.length < BATCH) return undefined;
    after = rows.at(-1)?.id ?? after;
  }
}

function unlinked(problem: Break['problem'], id: string, detail: string): Break {
  return { problem, entryId: formatId('aud', id), detail };
}
