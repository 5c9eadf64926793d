// The audit log, put together: what it needs in, its service out.
import type { Logger } from 'pino';
import { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { Task } from '../../metrics/tasks.ts';
import type { Clock } from '../clock.ts';
import { type ServiceEntry, serve } from '../service-entry.ts';
import type { Database } from '../storage/database.ts';
import type { Figures } from '../storage/database-figures.ts';
import type { SealedColumn } from '../storage/reseal.ts';
import type { Sealer } from '../storage/sealing.ts';
import { beginFirstChain } from './audit-begin.ts';
import { createLinker, startChainer } from './audit-chainer.ts';
import { auditFigures } from './audit-figures.ts';
import { AUDIT_KEY } from './audit-key.ts';
import { type AuditPruneGuard, createAuditPruneGuard } from './audit-prune-guard.ts';
import { createAuditService } from './audit-service.ts';
import type { HeadFile } from './head-file.ts';
import { createHeadKeeper } from './head-keeper.ts';

export type AuditRoomOptions = {
  readonly db: Database;
  readonly sealer: Sealer;
  /** Where this hub notes the head of the chain for itself. */
  readonly headFile: HeadFile;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** The linking of entries. */
  readonly task: Task;
};

export type AuditRoom = {
  readonly services: readonly ServiceEntry[];
  /** Where the key of the chain is kept. */
  readonly secrets: readonly SealedColumn[];
  /** Leaves anchors for the links of months that are pruned. */
  readonly pruneGuard: AuditPruneGuard;
  readonly figures: Figures;
  /** Links what the others have recorded: to be closed after them. */
  close(): Promise<void>;
};

/**
 * To be made before anything is recorded in a new database. A log whose key or head is gone is served all the same: its new
 * entries wait for their links until an admin has dealt with it.
 */
export async function createAuditRoom(options: AuditRoomOptions): Promise<AuditRoom> {
  const { db, sealer, headFile, clock, logger, metrics, task } = options;
  const { pool } = db;
  const chain = { pool, sealer, clock };
  await beginFirstChain(chain, await headFile.read());
  const headKeeper = await createHeadKeeper({ ...chain, file: headFile, logger });
  const link = createLinker(chain);
  const chainer = startChainer({ pool, link, headKeeper, logger, task });
  metrics.gauge(
    {
      name: 'hub_audit_head_lost',
      help: 'Whether the audit chain has lost the head that this hub has noted: 1 means that somebody has cut or exchanged the log.',
      together: 'max',
    },
    () => (headKeeper.isLost ? 1 : 0),
  );
  metrics.gauge(
    {
      name: 'hub_audit_chain_stopped',
      help: 'Whether audit entries cannot be linked because the key or the head of the audit chain is gone: 1 means that somebody has removed or replaced them.',
      together: 'max',
    },
    () => (chainer.stopped ? 1 : 0),
  );
  return {
    services: [serve(AuditService, createAuditService({ db, chain, link, headKeeper }))],
    secrets: [AUDIT_KEY],
    pruneGuard: createAuditPruneGuard(chain, link),
    figures: auditFigures,
    close: () => chainer.stop(),
  };
}
