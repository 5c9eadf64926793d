// Changes all licenses that match a filter: shows them, asks, and goes on after a failure.
import type { Command } from 'commander';
import { counted } from '../../../lib/presentation/counted.ts';
import type { CommandContext } from '../../command-context.ts';
import { CliError, EXIT, usageError } from '../../errors/failure.ts';
import { changeEach, findAll } from '../../interrupt/change-each.ts';
import type { Output } from '../../output/output.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import { yesOption } from '../../parse/shared-options.ts';
import { LICENSE, LICENSE_COLUMNS, type LicenseView } from '../../views/licensing/license.ts';
import * as json from '../../views/schema.ts';
import { addFilter, type FilterOptions, licensePages, readFilter } from './license-filter.ts';

const FAILED_CHANGE = json.object('FailedChange', {
  licenseId: json.text('the license'),
  code: json.text('the error code'),
  message: json.text('what is wrong'),
});

const CHANGED_LICENSES = json.object('ChangedLicenses', {
  matched: json.integer('how many licenses matched the filter'),
  changed: json.integer('how many of them the command changed'),
  unchanged: json.integer(
    'how many of them were as requested already, for example changed by a command with the same idempotency key',
  ),
  failed: json.list(FAILED_CHANGE, 'the licenses that could not be changed'),
  idempotencyKey: json.optional(
    json.text('repeat the command with this --idempotency-key to change no license twice'),
  ),
});

/** What a command prints for one license, for many, and with --dry-run. */
export const printsOneOrMany = (one: json.TypedSchema): json.TypedSchema =>
  json.either(
    [one, CHANGED_LICENSES, json.list(LICENSE)],
    'the license; with a filter a count; with --dry-run the licenses',
  );

export type ManyOptions = FilterOptions & { readonly yes?: true; readonly dryRun?: true };

/** Adds the filter, `--dry-run` and `--yes` to a command that also takes the id of one license. */
export function addMany(command: Command): Command {
  return addFilter(command, '--with-metadata')
    .option('--dry-run', 'with a filter: list the licenses that match, and change nothing')
    .addOption(yesOption());
}

/** Whether the options choose licenses by a filter. @throws CliError (usage) with an id too, or with neither */
export function isForMany(licenseId: string | undefined, options: ManyOptions): boolean {
  const hasFilter = Object.keys(readFilter(options)).length > 0;
  if (licenseId !== undefined && hasFilter) throw usageError('Give a license or a filter, not both.');
  if (licenseId === undefined && !hasFilter)
    throw usageError('Give the id of a license, or a filter such as --app.');
  if (licenseId !== undefined && options.dryRun)
    throw usageError('--dry-run: give a filter instead of a license.');
  return hasFilter;
}

export type ManyChange = {
  /** `renew` */
  readonly verb: string;
  /** `renewed` */
  readonly done: string;
  /** `by 1 year`; undefined if the verb says it all. */
  readonly how?: string;
  readonly idempotencyKey?: string;
  readonly change: (licenseId: string) => Promise<{ readonly changed: boolean }>;
};

/** @throws CliError (some_failed) if a license could not be changed */
export async function changeMany(
  commandContext: CommandContext,
  options: ManyOptions,
  change: ManyChange,
): Promise<void> {
  const { out, requireYes } = commandContext;
  const pages = licensePages(commandContext.hub, readFilter(options))();
  const found = await findAll(commandContext, pages, 'license');
  const [count, how] = [counted(found.length, 'license'), change.how ? ` ${change.how}` : ''];
  if (options.dryRun) {
    await out.list([found], LICENSE_COLUMNS);
    out.note(`${count} would be ${change.done}${how}. Nothing was changed.`);
    return;
  }
  if (found.length === 0) {
    out.note('No license matches.');
    return printResult(out, { matched: 0, changed: 0, unchanged: 0, failed: [] });
  }
  await requireYes({
    yes: options.yes,
    verb: change.verb,
    question: () =>
      `${change.verb.replace(/^./, (letter) => letter.toUpperCase())} ${count}${how}${sample(found)}?`,
    otherwise: `No license was ${change.done}.`,
  });
  const { idempotencyKey } = change;
  if (idempotencyKey !== undefined)
    out.note(`Idempotency key: ${idempotencyKey}. A command that repeats it changes no license twice.`);
  const { failed: failures, ...counts } = await changeEach(commandContext, {
    ids: found.map(({ licenseId }) => licenseId),
    noun: 'license',
    done: change.done,
    change: async (id) => (await change.change(id)).changed,
  });
  const failed = failures.map(({ id, ...why }) => ({ licenseId: id, ...why }));
  await printResult(out, {
    matched: found.length,
    ...counts,
    failed,
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  });
  if (failed.length === 0) return;
  throw new CliError('some_failed', EXIT.failed, `${failed.length} of ${count} could not be ${change.done}.`);
}

async function printResult(out: Output, result: json.ValueOf<typeof CHANGED_LICENSES>): Promise<void> {
  await out.record(result, RESULT_FIELDS);
  await out.below(result.failed, FAILED_COLUMNS);
}

const RESULT_FIELDS: readonly Column<json.ValueOf<typeof CHANGED_LICENSES>>[] = [
  ...columnsOf(CHANGED_LICENSES, 'matched', 'changed', 'unchanged'),
  { title: 'Failed', cell: (item) => item.failed.length },
];

const FAILED_COLUMNS = columnsOf(FAILED_CHANGE, 'licenseId', 'code', 'message');

/** ` (the first: lic_… of Ada Lovelace)` */
function sample([first]: readonly LicenseView[]): string {
  if (first === undefined) return '';
  return ` (the first: ${first.licenseId}${first.customer === undefined ? '' : ` of ${first.customer}`})`;
}
