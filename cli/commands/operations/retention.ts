// hubctl retention: removes old months of the journal, the usage log and the audit log.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { NO_DEADLINE } from '../../connect/calls.ts';
import { columnsOf } from '../../output/table.ts';
import { parseMonth } from '../../parse/parse-time.ts';
import { yesOption } from '../../parse/shared-options.ts';
import * as json from '../../views/schema.ts';

type PruneOptions = {
  readonly before: string;
  readonly dryRun?: true;
  readonly acceptBrokenAuditLog?: boolean;
  readonly yes?: true;
};

const PRUNED_PARTITION = json.view('PrunedPartition', 'hub.retention.v1.PrunedPartition', {
  month: json.text(),
  table: json.text(),
  rows: json.optional(json.integer('how many rows; with --dry-run only')),
  bytes: json.integer(),
});

const COLUMNS = columnsOf(PRUNED_PARTITION, 'month', 'table', 'rows', 'bytes');

export function registerRetention(program: Command, { hub, out, requireYes }: CommandContext): void {
  const retention = addNoun(
    program,
    'retention',
    'Retention of the monthly data: callbacks, usage log, events and audit log.',
  );

  addVerb(retention, 'prune', {
    summary: 'delete old months of callbacks, usage log, events and audit log',
    description:
      'Deletes all monthly data before a month. This is immediate and permanent. Asks for confirmation; without a terminal it requires --yes.',
    notes: [
      'Deletes callbacks with their verifications, the usage log with its fees, events with their deliveries, and the audit log. Keeps licenses, seats, charge sessions and proofs of payment. Export the data you must keep first (`usage export`, `audit export`): deleted entries can no longer be verified, the rest can. Keeps months whose audit log fails verification.',
    ],
    examples: [
      'hubctl retention prune --before 2026-01 --dry-run',
      'hubctl retention prune --before 2026-01 --yes',
    ],
    prints: { list: PRUNED_PARTITION },
  })
    .requiredOption('--before <month>', 'the first month to keep, in UTC: 2026-01', parseMonth)
    .option('--dry-run', 'only list the months that would be deleted')
    .option(
      '--accept-broken-audit-log',
      'also delete months whose audit log fails verification; the audit log records it',
    )
    .addOption(yesOption())
    .action(async ({ before, dryRun, acceptBrokenAuditLog = false, yes }: PruneOptions) => {
      const prune = async (dryRun: boolean) => {
        return (await hub.retention.pruneMonths({ before, dryRun, acceptBrokenAuditLog }, NO_DEADLINE))
          .partitions;
      };
      const question = async () => {
        const rows = (await prune(true)).reduce((sum, partition) => sum + Number(partition.rows ?? 0n), 0);
        return `Delete ${rows} rows of the months before ${before}? This cannot be undone.`;
      };
      if (!dryRun) await requireYes({ yes, verb: 'prune', question, otherwise: 'Nothing was deleted.' });
      const partitions = await prune(dryRun === true);
      const views = partitions.map((partition) => json.viewOf(PRUNED_PARTITION, partition));
      await out.list([views], COLUMNS, { ofChange: !dryRun });
      if (partitions.length === 0) out.note(`There is no data before ${before}.`);
    });
}
