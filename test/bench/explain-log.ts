// Reads the plans that PostgreSQL ran, with their block counts, from its log. The auto_explain module writes
// them there, so no statement has to run twice: https://www.postgresql.org/docs/current/auto-explain.html
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { query, serverLog } from '../support/postgres/databases.ts';

/** A node of `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)`, with the members that the tests read. */
export type PlanNode = {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Subplan Name'?: string;
  /** The average over the loops. */
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  /** Milliseconds, with the inputs of the node: the average over the loops. Only with timing. */
  readonly 'Actual Total Time'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
};

export type ExecutedPlan = {
  /** The statement, with single spaces. */
  readonly text: string;
  /** In PostgreSQL's format: `$1 = '…', $2 = '…'`. Empty if there are none. */
  readonly parameters: string;
  readonly plan: PlanNode;
};

/**
 * Takes effect for new connections to this database. The user must be a superuser. `timing`: also log the time of
 * each node, which slows the statement.
 */
export async function logPlans(databaseUrl: string, { timing = false } = {}): Promise<void> {
  const settings = { ...AUTO_EXPLAIN_SETTINGS, 'auto_explain.log_timing': timing };
  for (const [setting, value] of Object.entries(settings)) {
    await query(databaseUrl, `alter database ${databaseName(databaseUrl)} set ${setting} = '${value}'`);
  }
}

/** New connections use generic plans only. Without this, PostgreSQL chooses, as in production. */
export async function forceGenericPlans(databaseUrl: string): Promise<void> {
  await query(
    databaseUrl,
    `alter database ${databaseName(databaseUrl)} set plan_cache_mode = 'force_generic_plan'`,
  );
}

/** Resets the settings of `logPlans` and `forceGenericPlans` for new connections. Logging slows each statement. */
export async function resetPlanSettings(databaseUrl: string): Promise<void> {
  await query(databaseUrl, `alter database ${databaseName(databaseUrl)} reset all`);
}

function databaseName(databaseUrl: string): string {
  return new URL(databaseUrl).pathname.slice(1);
}

const AUTO_EXPLAIN_SETTINGS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_format': 'json',
};

type Logged = {
  readonly 'Query Text': string;
  readonly 'Query Parameters'?: string;
  readonly Plan: PlanNode;
};

/** The bytes of the server's log. */
export async function logSize(): Promise<number> {
  return (await stat(serverLog())).size;
}

/** Parses the plans in the server's log from this byte on. The last entry may be incomplete, and is left out. */
export async function plansSince(start: number): Promise<ExecutedPlan[]> {
  const plans: ExecutedPlan[] = [];
  let entry: string[] | undefined;
  // Line by line, because with ten million licenses the log is too long for a string.
  for await (const line of createInterface(createReadStream(serverLog(), { start }))) {
    if (entry === undefined || !line.startsWith('\t')) {
      entry = FIRST_LINE.test(line) ? [] : undefined;
      continue;
    }
    entry.push(line);
    if (line !== LAST_LINE) continue;
    const logged: Logged = JSON.parse(entry.join('\n'));
    const { 'Query Text': text, 'Query Parameters': parameters = '', Plan: plan } = logged;
    plans.push({ text: oneLine(text), parameters, plan });
    entry = undefined;
  }
  return plans;
}

/** An entry is one line, followed by the lines of a JSON object. Each begins with a tab, which JSON permits. */
const FIRST_LINE = / LOG: {2}duration: [\d.]+ ms {2}plan:$/;
const LAST_LINE = '\t}';

export function oneLine(text: string): string {
  return text.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim();
}
