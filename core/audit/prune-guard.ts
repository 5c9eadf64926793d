// Guards the audit log while months of it are pruned: they must be intact, and the rest must stay verifiable.
import type { PoolClient } from 'pg';
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import type { PruneGuard } from '../retention/prune.ts';
import { anchorChain } from './anchors.ts';
import type { ChainOptions } from './chain.ts';
import { ignoreChainStopped } from './chain-stopped.ts';
import { findBreakBelow } from './verify-audit-log.ts';
import type { Break } from './walk-chain.ts';

/** @param link Links all committed entries. */
export function createAuditPruneGuard(chain: ChainOptions, link: () => Promise<void>): PruneGuard {
  return {
    async prepare(floor, acceptBroken) {
      // Entries that cannot be linked fail the verification below, or `check`.
      await link().catch(ignoreChainStopped);
      // An anchor states that a hub pruned the links. It must not cover links that were removed or altered
      // otherwise.
      const broken = await findBreakBelow(chain, floor);
      if (broken === undefined) return undefined;
      // Without the key no anchor can be computed.
      if (!acceptBroken || broken.problem === 'key_missing') throw brokenLog(broken);
      const { problem, seq, entryId } = broken;
      return { brokenAuditLog: { problem, ...(seq && { seq }), ...(entryId && { entryId }) } };
    },
    check: checkLinked,
    async save(client, floor) {
      await anchorChain(client, chain, floor);
      await client.query('delete from audit_unlinked where entry_id < $1', [floor]);
    },
  };
}

/** Refuses to prune entries without a link. Queued entries that are missing were found by `prepare`. */
async function checkLinked(client: PoolClient, floor: string): Promise<void> {
  const { rows } = await client.query<{ id: string }>(
    'select id from audit_unlinked join audit_entry on id = entry_id where entry_id < $1 limit 1',
    [floor],
  );
  const [entry] = rows;
  if (entry === undefined) return;
  const message = `row ${formatId('aud', entry.id)} of the audit log has no link yet: try again in a moment`;
  throw new HubError('months_in_use', message, { field: 'before' });
}

function brokenLog({ problem, seq, entryId, detail }: Break): HubError {
  const where = [problem, seq !== undefined && `link ${seq}`, entryId].filter(Boolean).join(', ');
  const remedy =
    problem === 'key_missing'
      ? 'restore the key from a backup, or begin a new chain: hubctl audit begin-chain'
      : 'to prune it anyway, which is recorded under your name: ' +
        'hubctl retention prune --accept-broken-audit-log';
  return new HubError(
    'audit_log_broken',
    `verification of the audit log of these months failed (${where}): ${detail}. Find out why; ${remedy}`,
    { field: 'acceptBrokenAuditLog' },
  );
}
