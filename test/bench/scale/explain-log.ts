// The plans that PostgreSQL really ran, with what they read: it is made to log each of them, and its log is read.
//
// Nothing is copied and nothing is run twice: https://www.postgresql.org/docs/current/auto-explain.html
import { query } from '../../support/postgres/databases.ts';

/** A node of `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)`, as far as it is looked at. */
export type PlanNode = {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Subplan Name'?: string;
  /** On average over the loops. */
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
};

export type ExecutedPlan = {
  /** With single spaces. */
  readonly text: string;
  /** As PostgreSQL writes them: `$1 = '…', $2 = '…'`; empty if there are none. */
  readonly parameters: string;
  readonly plan: PlanNode;
};

/** From the next connection on; of this database alone. The user has to be a superuser. */
export async function logPlans(databaseUrl: string): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  for (const [setting, value] of Object.entries(SETTINGS)) {
    await query(databaseUrl, `alter database ${name} set ${setting} = '${value}'`);
  }
}

/** Whether prepared statements get the plan that fits any values; else the server chooses, as it does for everybody. */
export async function forceGenericPlans(databaseUrl: string): Promise<void> {
  const name = new URL(databaseUrl).pathname.slice(1);
  await query(databaseUrl, `alter database ${name} set plan_cache_mode = 'force_generic_plan'`);
}

const SETTINGS = {
  session_preload_libraries: 'auto_explain',
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_format': 'json',
};

type Logged = {
  readonly 'Query Text': string;
  readonly 'Query Parameters'?: string;
  readonly Plan: PlanNode;
};

/** The plans in a part of the server's log. An entry is a line, and further lines that begin with a tab. */
export function plansIn(log: string): ExecutedPlan[] {
  const plans: ExecutedPlan[] = [];
  let entry: string[] | undefined;
  const finish = (): void => {
    if (entry === undefined) return;
    const logged: Logged = JSON.parse(entry.join('\n'));
    const { 'Query Text': text, 'Query Parameters': parameters = '', Plan: plan } = logged;
    plans.push({ text: oneLine(text), parameters, plan });
    entry = undefined;
  };
  for (const line of log.split('\n')) {
    if (line.startsWith('\t')) {
      entry?.push(line.slice(1));
      continue;
    }
    finish();
    if (/ LOG: {2}duration: [\d.]+ ms {2}plan:$/.test(line)) entry = [];
  }
  // The last one may not have been written to its end.
  return plans;
}

export function oneLine(text: string): string {
  return text.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim();
}
