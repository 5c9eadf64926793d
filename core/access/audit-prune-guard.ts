// What the audit log asks for before months of it are dropped: that they hold, and that the rest can be verified after.
import type { PoolClient } from 'pg';
import { HubError } from '../errors.ts';
import { formatId } from '../ids.ts';
import { anchorChain } from './audit-anchor.ts';
import { ignoreStopped } from './audit-chain-stopped.ts';
import type { ChainOptions } from './audit-chainer.ts';
import type { Facts } from './audit-entities.ts';
import { type Break, findBreakBelow } from './audit-verify.ts';

export type AuditPruneGuard = {
  /** @throws HubError `audit_log_broken`, unless that is accepted: then returns the break, for the record */
  prepare(floor: string, acceptBroken: boolean): Promise<Facts | undefined>;
  /** @throws HubError `months_in_use` */
  check(client: PoolClient, floor: string): Promise<void>;
  save(client: PoolClient, floor: string): Promise<void>;
};

/** `link` links everything that is committed. */
export function createAuditPruneGuard(chain: ChainOptions, link: () => Promise<void>): AuditPruneGuard {
  return {
    async prepare(floor, acceptBroken) {
      // What cannot be linked is found below, or by `check`.
      await link().catch(ignoreStopped);
      // An anchor says that a hub pruned what is gone: it must not say so of what somebody removed or changed.
      const broken = await findBreakBelow(chain, floor);
      if (broken === undefined) return undefined;
      // Without the key there can be no anchor.
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

/** What was committed since the links were made stays; what waits for a link and is gone has been found by then. */
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
      ? 'bring the key back from a backup, or begin a new chain: hubctl audit begin-chain'
      : 'to prune it all the same, for which the log will name you, accept it: ' +
        'hubctl retention prune --accept-broken-audit-log';
  return new HubError(
    'audit_log_broken',
    `the audit log of these months does not hold (${where}): ${detail}. Find out why; ${remedy}`,
    { field: 'acceptBrokenAuditLog' },
  );
}
