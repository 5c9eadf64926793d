// Begins an audit chain: automatically in a new database, otherwise only on an admin's request.
import type { Pool, PoolClient } from 'pg';
import type { Actor } from '../access/caller.ts';
import { HubError } from '../errors.ts';
import { inTransaction } from '../storage/sql/transaction.ts';
import { beginOf, type ChainHead, type ChainOptions, formatHead, lockChain, readHead } from './chain.ts';
import { readChainKey, replaceChainKey } from './chain-key.ts';
import { ChainStopped } from './chain-stopped.ts';
import { recordChangeNow } from './record.ts';
import { requireRecordedHead, writeHead } from './recorded-head.ts';

/**
 * Creates the key and the head of the chain if the log is new: nothing was ever recorded in this database,
 * and this hub has seen no link. Otherwise, deleting the chain would make the hub start a clean one over the
 * remaining log.
 */
export async function beginFirstChain(
  { pool, sealer, clock }: ChainOptions,
  lastSeen: ChainHead | undefined,
): Promise<void> {
  if (lastSeen !== undefined && lastSeen.seq > 0) return;
  // Checked before locking: only the first hubs of a database need the lock.
  if (!(await isNewLog(pool))) return;
  await inTransaction(pool, async (client) => {
    await lockChain(client);
    if (!(await isNewLog(client))) return;
    const { rowCount } = await client.query('select from audit_key');
    const key = await (rowCount === 0
      ? replaceChainKey(client, sealer, clock, 0)
      : readChainKey(client, sealer));
    await writeHead(client, key, beginOf(key));
  });
}

/** Whether nothing was ever recorded in this database. */
export async function isNewLog(db: Pool | PoolClient): Promise<boolean> {
  const { rows } = await db.query<{ used: boolean }>(IS_USED);
  return rows[0]?.used === false;
}

/**
 * Whether the database was used, as column `used`. An attacker who empties the audit log leaves apps, slots
 * and fee rules behind, whose creation is recorded.
 */
export const IS_USED = `
  select exists (select from audit_head) or exists (select from audit_entry) or exists (select from
    audit_link)
    or exists (select from audit_anchor) or exists (select from app) or exists (select from slot)
    or exists (select from fee_rule) as used`;

export type BeginRequest = {
  readonly reason: string;
  /** The last head that this hub has seen. */
  readonly lastSeen: ChainHead | undefined;
};

/**
 * Begins a new chain after the last known link, if the current one has stopped, and records that. All entries
 * without a link are queued; those with a link keep it, and are no longer verified.
 *
 * @throws HubError `audit_chain_unbroken`
 */
export async function beginChain(
  options: ChainOptions,
  { reason, lastSeen }: BeginRequest,
  actor: Actor,
): Promise<ChainHead> {
  const { pool, sealer, clock } = options;
  await requireStopped(pool, options);
  await queueUnlinked(options);
  return inTransaction(pool, async (client) => {
    await lockChain(client);
    const { problem, message } = await requireStopped(client, options);
    const { rows } = await client.query<{ seq: string }>('select seq from audit_head');
    const linked = await readHead(client);
    const known = [linked.seq, lastSeen?.seq ?? 0, ...rows.map(({ seq }) => Number(seq))];
    const key = await replaceChainKey(client, sealer, clock, Math.max(...known));
    const head = beginOf(key);
    await writeHead(client, key, head);
    // `verify` would report a deleted entry without a link as missing forever.
    const { rowCount: missing } = await client.query(
      'delete from audit_unlinked u where not exists (select from audit_entry e where e.id = u.entry_id)',
    );
    await recordChangeNow(client, actor, clock(), {
      action: 'audit.begin_chain',
      subject: formatHead(head),
      before: { problem, detail: message, head: formatHead(linked) },
      after: { beginsAfter: head.seq, unlinkedEntriesGone: missing },
      detail: { reason },
    });
    return head;
  });
}

async function requireStopped(db: Pool | PoolClient, { sealer }: ChainOptions): Promise<ChainStopped> {
  try {
    await requireRecordedHead(db, await readChainKey(db, sealer));
  } catch (error) {
    if (error instanceof ChainStopped) return error;
    throw error;
  }
  throw new HubError(
    'audit_chain_unbroken',
    'the audit chain has its key and head: a new chain is not needed',
  );
}

const BATCH = 5_000;

/** In batches, since the log may be long. No hub links meanwhile. */
async function queueUnlinked({ pool }: ChainOptions): Promise<void> {
  for (let after: string | null = '00000000-0000-0000-0000-000000000000'; after !== null; ) {
    const { rows }: { rows: { last: string | null }[] } = await pool.query(
      // audit_entry_pkey, audit_link_pkey
      `with entries as materialized (select id from audit_entry where id > $1 order by id limit ${BATCH}),
         queued as (
           insert into audit_unlinked
           select id from entries where not exists (select from audit_link l where l.entry_id = id)
           on conflict do nothing)
       select (select id from entries order by id desc limit 1) as last`,
      [after],
    );
    after = rows[0]?.last ?? null;
  }
}
