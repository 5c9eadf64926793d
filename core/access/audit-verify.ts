// Verification of the audit log: whether the chain holds, and the first row that breaks it.
import type { Pool } from 'pg';
import { formatId } from '../ids.ts';
import { type ReadAnchor, readAnchors } from './audit-anchor.ts';
import { beginOf, type ChainHead, type Link, linkHash, readLinks } from './audit-chain.ts';
import { ChainStopped } from './audit-chain-stopped.ts';
import type { ChainOptions } from './audit-chainer.ts';
import { requireNotedHead } from './audit-head.ts';
import { type ChainKey, readChainKey } from './audit-key.ts';
import { readWaiting, type Waiting } from './audit-waiting.ts';

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
    | 'head_altered'
    | 'key_missing'
    | 'entries_unlinked';
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
  /** Number of the link that it begins after. */
  readonly beginsAfter: number;
  /** What has no link yet. */
  readonly waiting: Waiting;
  /** Undefined if the chain holds. */
  readonly broken: Break | undefined;
};

const BATCH = 500;
/** Entries are linked within seconds, as long as nothing keeps hubs from it. */
const UNLINKED_MS = 5 * 60 * 1000;
/** Longer than any transaction takes, and than the clocks of two hubs differ. */
const BACKDATED_MS = 10 * 60 * 1000;

export type VerifyOptions = {
  /** A head that somebody noted and asks for: the chain must still have it. */
  readonly asked?: ChainHead | undefined;
  /** The head that the hub noted, which counts if it is of this chain. */
  readonly own?: ChainHead | undefined;
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
  { pool, sealer, clock }: ChainOptions,
  { asked, own, signal }: VerifyOptions = {},
): Promise<Verification> {
  const key = await readChainKey(pool, sealer).catch(stopOf);
  if ('problem' in key) {
    const head = beginOf({ beginsAfter: 0 });
    return { head, entries: 0, beginsAfter: 0, waiting: await readWaiting(pool), broken: key };
  }
  // Before the walk: what is linked after this, it may or may not meet.
  const noted = await requireNotedHead(pool, key).catch(stopOf);
  const begin = beginOf(key);
  const isOfChain = ({ seq, hash }: ChainHead): boolean =>
    seq > begin.seq || (seq === begin.seq && hash === begin.hash);
  const heads = [asked, own, 'problem' in noted ? undefined : noted].flatMap((head) =>
    head !== undefined && isOfChain(head) ? [head] : [],
  );
  const { head, entries, broken } = await walk({ pool, key, heads, signal });
  // After the walk: what was written meanwhile is linked by now.
  const waiting = await readWaiting(pool);
  const problem =
    broken ??
    (await findUnlinked(pool, signal)) ?? // before the next, since it can name the row
    cutShort(head, heads) ??
    ('problem' in noted ? noted : undefined) ??
    (asked && !isOfChain(asked) ? beforeChain(asked, key) : undefined) ??
    findWaiting(waiting, clock());
  return { head, entries, beginsAfter: key.beginsAfter, waiting, broken: problem };
}

/** The first break among the links of entries with ids below `floor`, and of what comes before them in the chain. */
export async function findBreakBelow(
  { pool, sealer }: Pick<ChainOptions, 'pool' | 'sealer'>,
  floor: string,
): Promise<Break | undefined> {
  const key = await readChainKey(pool, sealer).catch(stopOf);
  if ('problem' in key) return key;
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

/** @throws whatever else it is given */
function stopOf(error: unknown): Break {
  if (error instanceof ChainStopped) return { problem: error.problem, detail: error.message };
  throw error;
}

type Walk = {
  readonly pool: Pool;
  readonly key: ChainKey;
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
}: Walk): Promise<Pick<Verification, 'head' | 'entries' | 'broken'>> {
  const anchorAfter = createFindAnchor(pool, key);
  let head = beginOf(key);
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
function createFindAnchor(pool: Pool, key: ChainKey) {
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

function breakAt(key: ChainKey, link: Link, previous: ChainHead, newest: string): Break | undefined {
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

function beforeChain({ seq }: ChainHead, { beginsAfter }: ChainKey): Break {
  const detail = `a new chain was begun after link ${beginsAfter}: link ${seq} of the one before cannot be verified`;
  return { problem: 'head_differs', seq, detail };
}

function findWaiting({ count, since }: Waiting, now: Date): Break | undefined {
  if (since === undefined || now.getTime() - since.getTime() <= UNLINKED_MS) return undefined;
  const rows = count === 1 ? '1 row waits for its link' : `${count} rows wait for their links`;
  const detail = `${rows} since ${since.toISOString()}: something keeps hubs from linking`;
  return { problem: 'entries_unlinked', detail };
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
             left join audit_unlinked u on u.entry_id = e.id`,
      values: [after, BATCH, below],
    });
    const [found] = rows.flatMap(({ id, unlinked }) => (unlinked ? [id] : [])).sort();
    if (found) return unlinked('row_unlinked', found, 'the row has no link: its link was removed');
    if (rows.length < BATCH) return undefined;
    for (const { id } of rows) if (id > after) after = id;
  }
}

function unlinked(problem: Break['problem'], id: string, detail: string): Break {
  return { problem, entryId: formatId('aud', id), detail };
}
