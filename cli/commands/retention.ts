// hubctl retention: how long the hub keeps what it writes down month by month.
import type { Command } from 'commander';
import type { PrunedPartition } from '../../gen/hub/retention/v1/retention_service_pb.ts';
import { parseMonth } from '../calendar.ts';
import { NO_DEADLINE } from '../call-options.ts';
import { requireYes } from '../confirm.ts';
import { addNoun, addVerb } from '../manual.ts';
import { integer, list, type Of, object, optional, text } from '../shapes.ts';
import { yesOption } from '../shared-options.ts';
import type { Column } from '../table.ts';
import type { Tools } from '../tools.ts';

type PruneOptions = {
  readonly before: string;
  readonly dryRun?: true;
  readonly acceptBrokenAuditLog?: boolean;
  readonly yes?: true;
};

const PRUNED_PARTITION = object(
  'PrunedPartition',
  {
    month: text(),
    table: text(),
    rows: optional(integer('how many rows; with --dry-run only')),
    bytes: integer(),
  },
  { message: 'hub.retention.v1.PrunedPartition' },
);
type PrunedView = Of<typeof PRUNED_PARTITION>;

const COLUMNS: readonly Column<PrunedView>[] = [
  { title: 'MONTH', cell: (item) => item.month },
  { title: 'TABLE', cell: (item) => item.table },
  { title: 'ROWS', cell: (item) => item.rows, right: true },
  { title: 'BYTES', cell: (item) => item.bytes, right: true },
];

export function registerRetention(program: Command, tools: Tools): void {
  const { hub, out } = tools;
  const retention = addNoun(program, 'retention', {
    group: 'Administration:',
    summary: 'how long callbacks, usage log and audit log are kept',
    description:
      'How long the hub keeps what it writes down month by month: callbacks, usage log, audit log.',
  });

  addVerb(retention, 'prune', {
    summary: 'drop months of callbacks, usage log and audit log',
    description:
      'Drops everything of the months before a month, at once and for good. Asks first; off a terminal it wants --yes.',
    notes: [
      'Goes: callbacks with what providers were asked, the usage log with its fees, the audit log. Stays: licenses, seats, charge sessions, proofs of payment. Export what you have to keep first (`usage export`, `audit export`): what is dropped cannot be verified any more, what is left can. Months whose audit log does not hold are kept.',
    ],
    examples: [
      'hubctl retention prune --before 2026-01 --dry-run',
      'hubctl retention prune --before 2026-01 --yes',
    ],
    prints: { document: list(PRUNED_PARTITION) },
  })
    .requiredOption('--before <month>', 'the first month to keep, in UTC: 2026-01', parseMonth)
    .option('--dry-run', 'only list what would be dropped')
    .option(
      '--accept-broken-audit-log',
      'prune months whose audit log does not hold; the log says that you did',
    )
    .addOption(yesOption())
    .action(async ({ before, dryRun, acceptBrokenAuditLog = false, yes }: PruneOptions) => {
      const prune = async (dryRun: boolean) => {
        const { retention: client } = await hub('retention');
        return (await client.pruneMonths({ before, dryRun, acceptBrokenAuditLog }, NO_DEADLINE)).partitions;
      };
      const question = async () => {
        const rows = (await prune(true)).reduce((sum, partition) => sum + Number(partition.rows ?? 0n), 0);
        return `Drop ${rows} rows of the months before ${before}? This cannot be taken back.`;
      };
      if (!dryRun)
        await requireYes(tools, { yes, verb: 'prune', question, otherwise: 'Nothing was dropped.' });
      const partitions = await prune(dryRun === true);
      await out.list([partitions.map(prunedView)], COLUMNS, { ofChange: !dryRun });
      if (partitions.length === 0) out.note(`There is nothing of the months before ${before}.`);
    });
}

function prunedView({ month, table, rows, bytes }: PrunedPartition): PrunedView {
  return { month, table, ...(rows !== undefined && { rows: Number(rows) }), bytes: Number(bytes) };
}
