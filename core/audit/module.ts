// Wires the audit module: the chain, its background task and the audit service.
import { AuditService } from '../../gen/hub/access/v1/audit_service_pb.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import { serve } from '../service-implementation.ts';
import { createAuditService } from './audit-service.ts';
import { beginFirstChain } from './begin-chain.ts';
import { AUDIT_KEY } from './chain-key.ts';
import type { AuditEntry } from './entities.ts';
import type { HeadFile } from './head-file.ts';
import { createHeadMonitor } from './head-monitor.ts';
import { createLinker } from './link-entries.ts';
import { startLinkTask } from './link-task.ts';
import { auditMetrics } from './metrics.ts';
import { createAuditPruneGuard } from './prune-guard.ts';

export type AuditModuleOptions = ModuleDependencies & {
  /** Opens the sealed values of entries that are listed. */
  readonly openEntries: (entries: readonly AuditEntry[]) => Promise<AuditEntry[]>;
  /** Where this hub saves the last head it has seen. */
  readonly headFile: HeadFile;
};

/**
 * Create it before anything is recorded in a new database. If the key or head of the chain is missing, the
 * hub still serves; new entries wait for their links until an admin begins a new chain.
 */
export async function createAuditModule(options: AuditModuleOptions) {
  const { db, sealer, openEntries, headFile, clock, logger, metrics, tasks } = options;
  const { pool } = db;
  const chain = { pool, sealer, clock };
  await beginFirstChain(chain, await headFile.read());
  const headMonitor = await createHeadMonitor({ ...chain, file: headFile, logger });
  const link = createLinker(chain);
  const linkTask = startLinkTask({ pool, link, headMonitor, logger, task: tasks.of('audit_chain') });
  metrics.gauge(
    {
      name: 'hub_audit_head_lost',
      help:
        'Whether the audit chain has lost the last head that this hub has seen: ' +
        '1 means that the log was truncated or replaced.',
      aggregator: 'max',
    },
    () => (headMonitor.isLost ? 1 : 0),
  );
  metrics.gauge(
    {
      name: 'hub_audit_chain_stopped',
      help:
        'Whether audit entries cannot be linked because the key or head of the audit chain is missing: ' +
        '1 means that it was removed or replaced.',
      aggregator: 'max',
    },
    () => (linkTask.stopped ? 1 : 0),
  );
  return {
    services: [serve(AuditService, createAuditService({ db, chain, link, headMonitor, openEntries }))],
    secrets: [AUDIT_KEY],
    pruneGuard: createAuditPruneGuard(chain, link),
    figures: auditMetrics,
    /** Links the remaining entries. Close it after the modules that record changes. */
    close: (): Promise<void> => linkTask.stop(),
  };
}
