// The beginning of an audit chain: by the first hub of a new database, and else by an admin alone.
import type { Pool, PoolClient } from 'pg';
import { HubError } from '../errors.ts';
import { inTransaction } from '../storage/transaction.ts';
import { recordChangeNow } from './audit.ts';
import { beginOf, type ChainHead, formatHead, lockChain, readHead } from './audit-chain.ts';
import { ChainStopped } from './audit-chain-stopped.ts';
import type { ChainOptions } from './audit-chainer.ts';
import { requireNotedHead, writeHead } from './audit-head.ts';
import { readChainKey, replaceChainKey } from './audit-key.ts';
import type { Actor } from './caller.ts';

/**
 * Makes the key of the chain and notes its beginning, if the log is new: nothing was ever recorded in this database, and this
 * hub has noted no link. Otherwise, deleting the chain would make the hub start a clean one over the remaining log.
 */
export async function beginFirstChain(
  { pool, sealer, clock }: ChainOptions,
  noted: ChainHead | undefined,
): Promise<void> {
  if (noted !== undefined && noted.seq > 0) return;
  // Without the lock, which only the first hubs of a database need.
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

/** Whether nothing was ever recorded in this database, as far as it tells. */
export async function isNewLog(db: Pool | PoolClient): Promise<boolean> {
  const { rows } = await db.query<{ used: boolean }>(IS_USED);
  return rows[0]?.used === false;
}

/**
 * Whether the database has been used, as the column `used`. An attacker who empties the audit log leaves apps, slots,
 * sessions and fee rules behind: each of them comes from a change that has an entry.
 */
export const IS_USED = `
  select exists (select from audit_head) or exists (select from audit_entry) or exists (select from audit_link)
    or exists (select from audit_anchor) or exists (select from app) or exists (select from slot)
    or exists (select from fee_rule) as used`;

export type BeginRequest = {
  readonly reason: string;
  /** What this hub has noted of the chain before. */
  readonly noted: ChainHead | undefined;
};

/**
 * Begins another chain where no entry can be linked any more, after the last link that is known, and records that. Entries
 * without a link are queued for one, however they lost theirs; those with one keep it, and are not verified any more.
 *
 * @throws HubError `audit_chain_unbroken`
 */
export async function beginChain(
  options: ChainOptions,
  { reason, noted }: BeginRequest,
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
    const known = [linked.seq, noted?.seq ?? 0, ...rows.map(({ seq }) => Number(seq))];
    const key = await replaceChainKey(client, sealer, clock, Math.max(...known));
    const head = beginOf(key);
    await writeHead(client, key, head);
    // `verify` would report a deleted entry without a link as missing for ever.
    const { rowCount: gone } = await client.query(
      'delete from audit_unlinked u where not exists (select from audit_entry e where e.id = u.entry_id)',
    );
    await recordChangeNow(client, actor, clock(), {
      action: 'audit.begin_chain',
      subject: formatHead(head),
      before: { problem, detail: message, head: formatHead(linked) },
      after: { beginsAfter: head.seq, unlinkedEntriesGone: gone },
      detail: { reason },
    });
    return head;
  });
}

async function requireStopped(
  db: ChainOptions['pool'] | PoolClient,
  { sealer }: ChainOptions,
): Promise<ChainStopped> {
  try {
    await requireNotedHead(db, await readChainKey(db, sealer));
  } catch (error) {
    if (error instanceof ChainStopped) return error;
    throw error;
  }
  throw new HubError(
    'audit_chain_unbroken',
    'the audit chain has its key and its head, and goes on: there is no need for another one',
  );
}

const BATCH = 5_000;

/** A batch at a time, since the log may be long; nobody links meanwhile. */
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
