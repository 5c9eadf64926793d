// hubctl usage reconcile: compares the usage log with a provider's statement.
import { DAY_MS } from '../../lib/presentation/calendar.ts';
import { counted } from '../../lib/presentation/counted.ts';
import type { CommandContext } from '../command-context.ts';
import { CliError, EXIT, usageError } from '../errors/failure.ts';
import { bar } from '../output/progress.ts';
import { usagePages } from '../output/usage-pages.ts';
import { checkPeriod } from '../parse/parse-time.ts';
import {
  FINDING_COLUMNS,
  findingsOf,
  RECONCILIATION_COLUMNS,
  reconciliationView,
} from '../views/payments/reconciliation.ts';
import { BUILT_IN_PROFILES } from './built-in-profiles.ts';
import {
  addUnmatched,
  type ComparedPeriod,
  compareEntry,
  emptyComparison,
  type FeeSource,
} from './compare.ts';
import { readProfile, type StatementProfile, ZONE } from './read-profile.ts';
import { readStatement } from './read-statement.ts';
import { StatementIndex } from './statement-index.ts';

export type ReconcileOptions = {
  readonly statement: string;
  readonly profile?: string;
  readonly slot?: string;
  readonly from?: Date;
  readonly to?: Date;
  readonly map?: Record<string, string>;
  readonly currency?: string;
  readonly zone?: string;
  readonly tolerance: number;
  readonly fees: FeeSource;
};

/** The hub may settle a payment this long after the provider, if no callback came and the sweep found it. */
const LATE_MS = 3 * DAY_MS;

/** @throws CliError `books_differ` if the books do not agree */
export async function reconcile(commandContext: CommandContext, options: ReconcileOptions): Promise<void> {
  const { out } = commandContext;
  checkPeriod(options.from, options.to);
  const profile = await chooseProfile(options);
  const { index, ignoredLines } = await indexStatement(commandContext, options, profile);
  const period = periodOf(index, options, profile);
  const comparison = emptyComparison();
  const { from, to, toleranceMs } = period;
  const filter = {
    ...(options.slot !== undefined && { slot: options.slot }),
    from: new Date(from - toleranceMs),
    to: new Date(to + toleranceMs + LATE_MS),
  };
  let compared = 0;
  const line = commandContext.progress.show(() => `Compared ${compared} entries`);
  try {
    for await (const entries of usagePages(commandContext.hub, filter)()) {
      for (const entry of entries) {
        if (profile.gateway !== undefined && entry.gateway !== profile.gateway) continue;
        compareEntry(comparison, index, entry, { ...period, fees: options.fees });
      }
      compared += entries.length;
    }
  } finally {
    line.end();
  }
  addUnmatched(comparison, index, period);
  const view = reconciliationView(comparison, { lines: index.lines, ignoredLines, from, to });
  if (!out.json() && findingsOf(view).length > 0) await out.list([findingsOf(view)], FINDING_COLUMNS);
  await out.record(view, RECONCILIATION_COLUMNS);
  if (view.feesNotCompared > 0 && options.fees !== 'none') {
    const payments = counted(view.feesNotCompared, 'payment');
    out.note(`The fees of ${payments} were not compared: the statement or the hub does not have them.`);
  }
  if (view.agrees) return;
  const findings = view.missingHereCount + view.missingThereCount + view.differsCount;
  throw new CliError('books_differ', EXIT.differs, `The books do not agree: ${findings} findings.`);
}

async function chooseProfile(options: ReconcileOptions): Promise<StatementProfile> {
  const { profile: name, currency, zone } = options;
  if (zone !== undefined && !ZONE.test(zone)) throw usageError('--zone: Give an offset such as +06:00.');
  if (currency !== undefined && !/^[A-Z]{3}$/.test(currency)) {
    throw usageError('--currency: Give an ISO 4217 code such as BDT.');
  }
  if (name === undefined && options.map === undefined) {
    const names = Object.keys(BUILT_IN_PROFILES).join(', ');
    throw usageError(`--profile: Give ${names} or a JSON file, or name the columns with --map.`);
  }
  const known =
    name !== undefined && Object.hasOwn(BUILT_IN_PROFILES, name) ? BUILT_IN_PROFILES[name] : undefined;
  const chosen =
    known ?? (name === undefined ? { title: 'statement', columns: {} } : await readProfile(name));
  return { ...chosen, ...(currency && { currency }), ...(zone && { zone }) };
}

async function indexStatement(
  { progress }: Pick<CommandContext, 'progress'>,
  { statement: path, map = {} }: ReconcileOptions,
  profile: StatementProfile,
): Promise<{ index: StatementIndex; ignoredLines: number }> {
  const index = new StatementIndex();
  let ignoredLines = 0;
  let [done, total] = [0, 0];
  const line = progress.show(() => bar('Reading KB', Math.round(done / 1_000), Math.round(total / 1_000)));
  try {
    const lines = readStatement({
      path,
      profile,
      mapped: map,
      onIgnored: () => {
        ignoredLines += 1;
      },
      onRead: (bytes, size) => {
        [done, total] = [bytes, size];
      },
    });
    for await (const each of lines) index.add(each);
  } finally {
    line.end();
  }
  return { index, ignoredLines };
}

/** The given period; by default the days of the statement, in its own zone. */
function periodOf(
  index: StatementIndex,
  { from, to, tolerance }: ReconcileOptions,
  { zone }: StatementProfile,
): ComparedPeriod {
  const toleranceMs = tolerance;
  if (from !== undefined && to !== undefined) return { from: from.getTime(), to: to.getTime(), toleranceMs };
  const { span } = index;
  if (span === undefined) {
    throw usageError('The statement does not say when each line was: give --from and --to.');
  }
  const offsetMs = Date.parse('1970-01-01T00:00:00Z') - Date.parse(`1970-01-01T00:00:00${zone ?? 'Z'}`);
  const dayOf = (time: number) => Math.floor((time + offsetMs) / DAY_MS) * DAY_MS - offsetMs;
  return {
    from: from?.getTime() ?? dayOf(span.earliest),
    to: to?.getTime() ?? dayOf(span.latest) + DAY_MS,
    toleranceMs,
  };
}
