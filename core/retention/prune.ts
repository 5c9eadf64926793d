// Pruning: drops whole months of partitioned tables. Locks the tables for some milliseconds only.
import type { Pool, PoolClient } from 'pg';
import type { Actor } from '../access/caller.ts';
import type { Facts } from '../audit/entities.ts';
import { recordChangeNow } from '../audit/record.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import {
  floorOf,
  listPartitions,
  type Month,
  makePartitions,
  monthOf,
  type Partition,
} from '../storage/schema/partitions.ts';
import { inRetriedTransaction, isLockFailure } from '../storage/sql/transaction.ts';

/**
 * What a module checks and saves before months of its tables are dropped. The rows of these months have ids
 * below `floor`.
 */
export type PruneGuard = {
  /**
   * Runs before the transaction that prunes. Returns details for the audit log.
   * @throws HubError `audit_log_broken`, unless `acceptBroken`
   */
  prepare?(floor: string, acceptBroken: boolean): Promise<Facts | undefined>;
  /** @throws HubError `months_in_use` */
  check?(client: PoolClient, floor: string): Promise<void>;
  /** Saves data that is still needed, in the transaction that prunes. */
  save?(client: PoolClient, floor: string): Promise<void>;
};

export type PruneOptions = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly guards: readonly PruneGuard[];
};

export type PruneRequest = {
  readonly before: Month;
  readonly dryRun: boolean;
  /** Prune even if the verification of the audit log fails. */
  readonly acceptBroken?: boolean;
};

/** A month of a table. Rows are counted only in a dry run, without those that stay. */
export type Pruned = Partition & { readonly rows: number | undefined };

/** Short, because other transactions queue behind a waiting lock. */
const RETRY_OPTIONS = { attempts: 5, lockTimeoutMs: 600 };

/**
 * @throws HubError `month_not_over`, `months_in_use`, `audit_log_broken`, `prune_busy`; nothing is dropped
 * then
 */
export function createPrune({ pool, clock, guards }: PruneOptions) {
  return async ({ before, dryRun, acceptBroken = false }: PruneRequest, actor: Actor): Promise<Pruned[]> => {
    const now = clock();
    if (before > monthOf(now)) {
      throw new HubError(
        'month_not_over',
        `only months that are over can be pruned: give ${monthOf(now)} or earlier`,
        { field: 'before' },
      );
    }
    try {
      // Moves rows of the default partitions to the partitions of their months.
      if (!dryRun) await makePartitions(pool, now);
      const floor = await floorOf(pool, before);
      const detail: Facts = {};
      for (const guard of guards) Object.assign(detail, await guard.prepare?.(floor, acceptBroken));
      return await inRetriedTransaction(
        pool,
        async (client) => {
          for (const guard of guards) await guard.check?.(client, floor);
          const partitions = (await listPartitions(client)).filter(({ month }) => month < before);
          if (dryRun) return count(client, partitions, before);
          if (partitions.length === 0) return [];
          for (const guard of guards) await guard.save?.(client, floor);
          // A function that runs as the owner of the tables, which may be another role.
          const { rows } = await client.query<{ names: string[] }>('select months_drop($1::date) as names', [
            `${before}-01`,
          ]);
          const names = new Set(rows[0]?.names);
          const dropped = partitions.filter(({ name }) => names.has(name));
          if (dropped.length === 0) return [];
          // Not `now`: the guards may have taken long.
          await recordChangeNow(client, actor, clock(), {
            action: 'retention.prune',
            subject: before,
            before: { partitions: dropped.map(({ name }) => name) },
            after: null,
            detail,
          });
          return dropped.map((partition) => ({ ...partition, rows: undefined }));
        },
        RETRY_OPTIONS,
      );
    } catch (error) {
      if (!isLockFailure(error)) throw error;
      throw new HubError('prune_busy', 'these months are being read or written; try again in a moment');
    }
  };
}

async function count(client: PoolClient, partitions: readonly Partition[], before: Month): Promise<Pruned[]> {
  const counted: Pruned[] = [];
  for (const partition of partitions) {
    // Counts by ids in the parent table: the role may lack the right to read a partition.
    const [table, key] = [partition.table, partition.key].map((name) => client.escapeIdentifier(name));
    const { rows } = await client.query<{ rows: string; kept: string }>(
      `select count(*) filter (where not is_kept) as rows, count(*) filter (where is_kept) as kept
       from (select ${key} in (select months_kept($2, $1, $3)) as is_kept from ${table}
             where ${key} >= partition_floor($1) and ${key} < partition_floor(($1::date + interval
               '1 month')::date)) r`,
      [`${partition.month}-01`, partition.table, `${before}-01`],
    );
    const [dropped, kept] = [Number(rows[0]?.rows), Number(rows[0]?.kept)];
    if (dropped > 0 || kept === 0) counted.push({ ...partition, rows: dropped });
  }
  return counted;
}
