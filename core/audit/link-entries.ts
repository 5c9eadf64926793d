// Links committed audit entries into the chain. Linking is separate from writing, so that changes do not wait
// for each other.
import { setImmediate } from 'node:timers/promises';
import { shareNextRun } from '../share-next-run.ts';
import { columns, inTransaction } from '../storage/sql/transaction.ts';
import {
  type ChainedEntry,
  type ChainHead,
  type ChainOptions,
  ENTRY_COLUMNS,
  HASHES_PER_TURN,
  linkHash,
  lockChain,
} from './chain.ts';
import { type ChainKey, readChainKey } from './chain-key.ts';
import { endOfChain, writeHead } from './recorded-head.ts';

const BATCH = 500;
/**
 * The hub reads this many entries and links the oldest of them first. The ids come from the clocks of the
 * hubs, so they are only roughly in the order of time. More entries would make each batch of a long queue
 * slow.
 */
const WINDOW = 10_000;

/** Links all committed entries. @throws ChainStopped, LockHeld */
export async function linkEntries(options: ChainOptions): Promise<void> {
  while ((await linkBatch(options)) === BATCH);
}

/** Links the oldest unlinked entries. Returns how many it took from the queue, at most `BATCH`. */
function linkBatch({ pool, sealer, clock }: ChainOptions): Promise<number> {
  return inTransaction(pool, async (client) => {
    await lockChain(client);
    // A queued entry that has a link was restored from elsewhere; its link stays.
    const { rows } = await client.query<ChainedEntry & { linked: boolean }>(
      // audit_unlinked_pkey, then audit_entry_pkey and audit_link_pkey for each row. The queue is mostly
      // empty, but the planner rarely knows and would read the whole log; OFFSET 0 prevents that.
      `select e.*
       from (
         select entry_id, at from (
           select u.entry_id, e.at
           from audit_unlinked u
           cross join lateral (select at from audit_entry e where e.id = u.entry_id offset 0) e
           order by u.entry_id limit ${WINDOW}
         ) queued
         order by at, entry_id limit ${BATCH}
       ) oldest
       cross join lateral (
         select ${ENTRY_COLUMNS}, exists (select from audit_link l where l.entry_id = e.id) as linked
         from audit_entry e where e.id = oldest.entry_id offset 0
       ) e
       order by oldest.at, oldest.entry_id`,
    );
    if (rows.length === 0) return 0;
    const linkedAt = clock();
    const key = await readChainKey(client, sealer);
    const unlinked = rows.filter(({ linked }) => !linked).map(({ linked, ...entry }) => entry);
    const { head, links } = await computeLinks(unlinked, key, await endOfChain(client, key), linkedAt);
    await client.query(
      `insert into audit_link (seq, entry_id, linked_at, hash)
       select seq, entry_id, $4, hash
       from unnest($1::bigint[], $2::uuid[], $3::bytea[]) as t (seq, entry_id, hash)`,
      [...columns(links, 'seq', 'entryId', 'hash'), linkedAt],
    );
    if (links.length > 0) await writeHead(client, key, head);
    await client.query('delete from audit_unlinked where entry_id = any($1)', [rows.map(({ id }) => id)]);
    return rows.length;
  });
}

/** The links of the entries after `previous`, and the last of them. Lets requests run in between. */
export async function computeLinks(
  entries: readonly ChainedEntry[],
  key: Pick<ChainKey, 'secret'>,
  previous: ChainHead,
  linkedAt: Date,
) {
  const time = linkedAt.toISOString();
  let head = previous;
  const links: { seq: number; entryId: string; hash: Buffer }[] = [];
  for (const [index, entry] of entries.entries()) {
    if (index % HASHES_PER_TURN === 0) await setImmediate();
    head = { seq: head.seq + 1, hash: linkHash(key, head, time, entry) };
    links.push({ seq: head.seq, entryId: entry.id, hash: Buffer.from(head.hash, 'hex') });
  }
  return { head, links };
}

/**
 * Returns a function that links; concurrent calls share one run, so that at most one connection waits for the
 * lock.
 */
export function createLinker(options: ChainOptions): () => Promise<void> {
  return shareNextRun<void>(() => linkEntries(options));
}
