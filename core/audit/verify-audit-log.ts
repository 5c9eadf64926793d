// Verifies the audit log and names the first row that breaks the chain.
import { beginOf, type ChainHead, type ChainOptions } from './chain.ts';
import { readChainKey } from './chain-key.ts';
import { ChainStopped } from './chain-stopped.ts';
import { requireRecordedHead } from './recorded-head.ts';
import { findUnlinked, readUnlinkedQueue, type UnlinkedQueue } from './unlinked-entries.ts';
import { type Break, walkChain } from './walk-chain.ts';

export type Verification = {
  /** The end of the chain, or the last link before the break. */
  readonly head: ChainHead;
  readonly entries: number;
  /** Number of the link that the chain begins after. */
  readonly beginsAfter: number;
  readonly queue: UnlinkedQueue;
  /** Undefined if the log is intact. */
  readonly broken: Break | undefined;
};

/** Hubs link entries within seconds. */
const UNLINKED_MS = 5 * 60 * 1000;

export type VerifyOptions = {
  /** A head that the caller wrote down: the chain must still contain it. */
  readonly expected?: ChainHead | undefined;
  /** The last head that this hub has seen; ignored if it belongs to an earlier chain. */
  readonly lastSeen?: ChainHead | undefined;
  readonly signal?: AbortSignal;
};

/**
 * Other hubs may link and prune meanwhile.
 *
 * @throws the signal's reason when it is aborted
 */
export async function verifyAuditLog(
  { pool, sealer, clock }: ChainOptions,
  { expected, lastSeen, signal }: VerifyOptions = {},
): Promise<Verification> {
  const key = await readChainKey(pool, sealer).catch(toBreak);
  if ('problem' in key) {
    const head = beginOf({ beginsAfter: 0 });
    return { head, entries: 0, beginsAfter: 0, queue: await readUnlinkedQueue(pool), broken: key };
  }
  // Read before the walk, which may or may not reach links that are added later.
  const recorded = await requireRecordedHead(pool, key).catch(toBreak);
  const begin = beginOf(key);
  const isOfChain = ({ seq, hash }: ChainHead): boolean =>
    seq > begin.seq || (seq === begin.seq && hash === begin.hash);
  const heads = [expected, lastSeen, 'problem' in recorded ? undefined : recorded].flatMap((head) =>
    head !== undefined && isOfChain(head) ? [head] : [],
  );
  const { head, entries, broken } = await walkChain({ pool, key, heads, signal });
  // Read after the walk: by then, entries that were written meanwhile are linked.
  const queue = await readUnlinkedQueue(pool);
  const problem =
    broken ??
    (await findUnlinked(pool, signal)) ?? // before the next check, because it can name the row
    checkEnd(head, heads) ??
    ('problem' in recorded ? recorded : undefined) ??
    (expected && !isOfChain(expected) ? beforeChain(expected, begin) : undefined) ??
    checkQueue(queue, clock());
  return { head, entries, beginsAfter: key.beginsAfter, queue, broken: problem };
}

/** Finds the first break in the chain up to the last link of an entry with an id below `floor`. */
export async function findBreakBelow(
  { pool, sealer }: Pick<ChainOptions, 'pool' | 'sealer'>,
  floor: string,
): Promise<Break | undefined> {
  const key = await readChainKey(pool, sealer).catch(toBreak);
  if ('problem' in key) return key;
  const { rows } = await pool.query<{ last: string | null }>(
    'select max(seq) as last from audit_link where entry_id < $1',
    [floor],
  );
  const { broken } = await walkChain({ pool, key, heads: [], last: Number(rows[0]?.last ?? 0) });
  return broken ?? (await findUnlinked(pool, undefined, floor));
}

/** @throws errors other than ChainStopped */
function toBreak(error: unknown): Break {
  if (error instanceof ChainStopped) return { problem: error.problem, detail: error.message };
  throw error;
}

function checkEnd(head: ChainHead, heads: readonly ChainHead[]): Break | undefined {
  const recorded = Math.max(...heads.map(({ seq }) => seq));
  if (recorded <= head.seq) return undefined;
  const detail = `the chain ends at link ${head.seq}, before the recorded head (link ${recorded})`;
  return { problem: 'tail_missing', seq: head.seq + 1, detail };
}

function beforeChain({ seq }: ChainHead, begin: ChainHead): Break {
  const detail =
    `a new chain begins after link ${begin.seq}: ` +
    `link ${seq} belongs to an earlier chain and cannot be verified`;
  return { problem: 'head_differs', seq, detail };
}

function checkQueue({ count, since }: UnlinkedQueue, now: Date): Break | undefined {
  if (since === undefined || now.getTime() - since.getTime() <= UNLINKED_MS) return undefined;
  const rows = count === 1 ? '1 row has' : `${count} rows have`;
  const detail = `${rows} been waiting for a link since ${since.toISOString()}: hubs cannot link them`;
  return { problem: 'entries_unlinked', detail };
}
