// Pruning: drops whole months of the tables that grow. They are locked for some milliseconds, whatever is in them.
import type { Pool, PoolClient } from 'pg';
import { recordChangeNow } from '../access/audit.ts';
import type { Facts } from '../access/audit-entities.ts';
import type { Actor } from '../access/caller.ts';
import type { Clock } from '../clock.ts';
import { HubError } from '../errors.ts';
import {
  floorOf,
  listPartitions,
  type Month,
  makePartitions,
  monthOf,
  type Partition,
} from '../storage/partitions.ts';
import { inPatientTransaction, isLockTrouble } from '../storage/transaction.ts';

/** What a room has to say when months of its tables are to be dropped. Ids below `floor` are theirs. */
export type PruneGuard = {
  /**
   * Done before, in transactions of its own. Returns what is to be recorded of it.
   * @throws HubError `audit_log_broken`, unless that is accepted
   */
  prepare?(floor: string, acceptBroken: boolean): Promise<Facts | undefined>;
  /** @throws HubError `months_in_use` */
  check(client: PoolClient, floor: string): Promise<void>;
  /** Saves what is needed of what is about to be dropped, in the transaction that drops it. */
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
  /** Whether months go whose audit log does not hold. */
  readonly acceptBroken?: boolean;
};

/** A month of a table; how many rows there are is counted in a dry run only. */
export type Pruned = Partition & { readonly rows: number | undefined };

/** Others wait for the locks while this does. */
const PATIENCE = { attempts: 5, lockTimeoutMs: 600 };

/** @throws HubError `month_not_over`, `months_in_use`, `audit_log_broken`, `prune_busy`; nothing is dropped then */
export function createPrune({ pool, clock, guards }: PruneOptions) {
  return async ({ before, dryRun, acceptBroken = false }: PruneRequest, actor: Actor): Promise<Pruned[]> => {
    const now = clock();
    if (before > monthOf(now)) {
      throw new HubError(
        'month_not_over',
        `only months that are over can be pruned: ${monthOf(now)} is the latest`,
        {
          field: 'before',
        },
      );
    }
    try {
      // What lies in the default partitions goes to that of its month.
      if (!dryRun) await makePartitions(pool, now);
      const floor = await floorOf(pool, before);
      const detail: Facts = {};
      for (const guard of guards) Object.assign(detail, await guard.prepare?.(floor, acceptBroken));
      return await inPatientTransaction(
        pool,
        async (client) => {
          for (const guard of guards) await guard.check(client, floor);
          const partitions = (await listPartitions(client)).filter(({ month }) => month < before);
          if (dryRun) return count(client, partitions);
          if (partitions.length === 0) return [];
          for (const guard of guards) await guard.save?.(client, floor);
          // As the owner of the tables, who may be another role.
          await client.query('select months_drop($1::date)', [`${before}-01`]);
          await recordChangeNow(client, actor, now, {
            action: 'retention.prune',
            subject: before,
            before: { partitions: partitions.map(({ name }) => name) },
            after: null,
            detail,
          });
          return partitions.map((partition) => ({ ...partition, rows: undefined }));
        },
        PATIENCE,
      );
    } catch (error) {
      if (!isLockTrouble(error)) throw error;
      throw new HubError('prune_busy', 'these months are being read or written; try again in a moment');
    }
  };
}

async function count(client: PoolClient, partitions: readonly Partition[]): Promise<Pruned[]> {
  const counted: Pruned[] = [];
  for (const partition of partitions) {
    // By its ids, in the table that it is a part of: whoever may read that need not be let into the part.
    const [table, key] = [partition.table, partition.key].map((name) => client.escapeIdentifier(name));
    const { rows } = await client.query<{ rows: string }>(
      `select count(*) as rows from ${table}
       where ${key} >= partition_floor($1) and ${key} < partition_floor(($1::date + interval '1 month')::date)`,
      [`${partition.month}-01`],
    );
    counted.push({ ...partition, rows: Number(rows[0]?.rows) });
  }
  return counted;
}
