// RetentionService: prunes old months.
import type { ServiceImpl } from '@connectrpc/connect';
import type { RetentionService } from '../../gen/hub/retention/v1/retention_service_pb.ts';
import { actorOf } from '../access/caller.ts';
import type { createPrune } from './prune.ts';

export function createRetentionService(
  prune: ReturnType<typeof createPrune>,
): ServiceImpl<typeof RetentionService> {
  return {
    async pruneMonths({ before, dryRun, acceptBrokenAuditLog }, context) {
      const pruned = await prune({ before, dryRun, acceptBroken: acceptBrokenAuditLog }, actorOf(context));
      return {
        partitions: pruned.map(({ table, month, bytes, rows }) => ({
          table,
          month,
          bytes: BigInt(bytes),
          ...(rows !== undefined && { rows: BigInt(rows) }),
        })),
      };
    },
  };
}
