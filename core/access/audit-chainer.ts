// Links audit entries into the chain, shortly after they were committed: changes never wait for each other.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../metrics/tasks.ts';
import type { Clock } from '../clock.ts';
import { repeatTask } from '../repeated-task.ts';
import type { Sealer } from '../storage/sealing.ts';
import { inTransaction } from '../storage/transaction.ts';
import {
  type ChainedEntry,
  type ChainHead,
  ENTRY_COLUMNS,
  formatHead,
  linkHash,
  lockChain,
} from './audit-chain.ts';
import { ChainStopped } from './audit-chain-stopped.ts';
import { endOfChain, writeHead } from './audit-head.ts';
import { readChainKey } from './audit-key.ts';
import type { HeadKeeper } from './head-keeper.ts';

export type ChainOptions = {
  readonly pool: Pool;
  /** Opens the key of the chain. */
  readonly sealer: Sealer;
  readonly clock: Clock;
};

const BATCH = 500;
const EVERY_MS = 1_000;
const MINUTE_MS = 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Links everything that is committed. @throws ChainStopped, LockHeld */
export async function linkEntries(options: ChainOptions): Promise<void> {
  while ((await linkBatch(options)) === BATCH);
}

/** Links the oldest entries without a link; how many were waiting, `BATCH` at most. */
function linkBatch({ pool, sealer, clock }: ChainOptions): Promise<number> {
  return inTransaction(pool, async (client) => {
    await lockChain(client);
    // A row that is queued and linked as well was brought back from elsewhere: its link stands.
    const { rows } = await client.query<ChainedEntry & { linked: boolean }>(
      // audit_unlinked_pkey, and for each row audit_entry_pkey and audit_link_pkey: the queue is mostly empty, which the
      // planner seldom knows, and it would rather read the whole log. OFFSET 0 keeps it from that.
      `select e.*
       from audit_unlinked u
       cross join lateral (
         select ${ENTRY_COLUMNS}, exists (select from audit_link l where l.entry_id = e.id) as linked
         from audit_entry e where e.id = u.entry_id offset 0
       ) e
       order by u.entry_id limit ${BATCH}`,
    );
    if (rows.length === 0) return 0;
    const linkedAt = clock();
    const key = await readChainKey(client, sealer);
    let head = await endOfChain(client, key);
    const links: { seq: number; entryId: string; hash: Buffer }[] = [];
    for (const { linked, ...entry } of rows) {
      if (linked) continue;
      head = { seq: head.seq + 1, hash: linkHash(key, head, linkedAt.toISOString(), entry) };
      links.push({ seq: head.seq, entryId: entry.id, hash: Buffer.from(head.hash, 'hex') });
    }
    await client.query(
      `insert into audit_link (seq, entry_id, linked_at, hash)
       select seq, entry_id, $4, hash from unnest($1::bigint[], $2::uuid[], $3::bytea[]) as t (seq, entry_id, hash)`,
      [
        links.map(({ seq }) => seq),
        links.map(({ entryId }) => entryId),
        links.map(({ hash }) => hash),
        linkedAt,
      ],
    );
    if (links.length > 0) await writeHead(client, key, head);
    await client.query('delete from audit_unlinked where entry_id = any($1)', [rows.map(({ id }) => id)]);
    return rows.length;
  });
}

/** The same for many who ask: they gather, and one connection at most waits for the lock of the chain. */
export function createLinker(options: ChainOptions): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const start = (): Promise<void> => {
    next = undefined;
    running = linkEntries(options).finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    if (running === undefined) return start();
    // What is under way may have begun before the caller's entry was committed.
    next ??= running.catch(() => {}).then(start);
    return next;
  };
}

export type Chainer = {
  /** Why no entry can be linked; undefined while hubs link. */
  readonly stopped: ChainStopped | undefined;
  /** Links what is left, and logs where the chain stands. */
  stop(): Promise<void>;
};

export type ChainerOptions = {
  readonly pool: Pool;
  /** Links everything that is committed. */
  readonly link: () => Promise<void>;
  readonly headKeeper: HeadKeeper;
  readonly logger: Logger;
  readonly task: Task;
};

/**
 * Links entries every second and saves the head of the chain at least once a minute. It also logs the head when it
 * starts, once a day and when it stops: an auditor compares the log with the chain to find a chain that was cut short.
 */
export function startChainer({ pool, link, headKeeper, logger, task }: ChainerOptions): Chainer {
  let lookedAt = Number.NEGATIVE_INFINITY;
  let loggedAt = Number.NEGATIVE_INFINITY;
  let stopped: ChainStopped | undefined;

  const logHead = (head: ChainHead): void => {
    loggedAt = performance.now();
    logger.info({ head: formatHead(head) }, HEAD_LINE);
  };
  const look = async (): Promise<void> => {
    lookedAt = performance.now();
    const head = await headKeeper.look();
    if (performance.now() - loggedAt > DAY_MS) logHead(head);
  };
  const note = (error: unknown): void => {
    if (!(error instanceof ChainStopped)) return;
    if (stopped?.message !== error.message) {
      const { problem, message } = error;
      logger.error({ problem, detail: message }, 'audit entries are not linked: see hubctl audit verify');
    }
    stopped = error;
  };
  const repeated = repeatTask({
    everyMs: EVERY_MS,
    async pass() {
      try {
        // Without a lock: most of the time there is nothing to do.
        const { rows } = await pool.query('select from audit_unlinked limit 1');
        if (rows.length > 0) await link();
        if (rows.length > 0 || performance.now() - lookedAt > MINUTE_MS) {
          await look();
          stopped = undefined;
        }
      } catch (error) {
        note(error);
        throw error;
      }
    },
    task,
    logger,
    complaint: 'audit entries are not linked for now',
  });

  return {
    get stopped() {
      return stopped;
    },
    async stop() {
      await repeated.stop();
      try {
        await link();
        logHead(await headKeeper.look());
      } catch (error) {
        logger.warn({ err: error }, 'the last audit entries are linked by the next hub');
      }
    },
  };
}

/** As operators search for it: docs/audit.md. */
const HEAD_LINE = 'head of the audit chain';
