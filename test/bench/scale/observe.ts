// Observes all statements of a working hub on a populated database, with the plans that PostgreSQL ran for
// each.
import { startPayments } from '../../support/hub/payment.ts';
import { startMailServer } from '../../support/network/mail-server.ts';
import { query } from '../../support/postgres/databases.ts';
import {
  type ExecutedPlan,
  forceGenericPlans,
  logPlans,
  logSize,
  type PlanNode,
  plansSince,
  resetPlanSettings,
} from '../explain-log.ts';
import { drive, SESSION_CALLBACKS } from './drive.ts';
import { blocksOf } from './judge-plan.ts';
import type { Population } from './population.ts';
import { noteStatementNames } from './statement-names.ts';

export type Statement = {
  /** Undefined if the statement is not prepared. */
  readonly name: string | undefined;
  readonly text: string;
  /** The custom plans, followed by the generic plans of prepared statements. */
  readonly executed: readonly ExecutedPlan[];
  /** The plan that read the most blocks. */
  readonly worst: PlanNode;
};

export type ObserveOptions = {
  /** A database on the test server, whose log the function reads. */
  readonly databaseUrl: string;
  /** The data directory of the hub that prepared the database. */
  readonly dataDir: string;
  readonly population: Population;
};

/** The sweep checks sessions at once and repeatedly: on a slow machine a session is one second old before it is paid. */
const SETTINGS = {
  databasePool: 2,
  sweepAfterMs: [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 3_600_000],
  sessionCallbacks: SESSION_CALLBACKS,
  eventAllowNetworks: ['127.0.0.0/8'],
};

const MAIL_FROM = { name: 'Shop', address: 'shop@shop.example' };

/**
 * How often each operation runs. After five executions PostgreSQL keeps custom plans or changes to the generic one. The
 * test observes both kinds, so either choice is covered. The two numbers must differ, because `driveCustomers` derives its
 * indexes from them.
 */
const CUSTOM = 5;
const GENERIC = 4;

export async function observe({ databaseUrl, dataDir, population }: ObserveOptions): Promise<Statement[]> {
  await logPlans(databaseUrl);
  const names = noteStatementNames();
  const mailServer = await startMailServer();
  const payments = await startPayments({
    settings: {
      ...SETTINGS,
      smtpUrl: `smtp://127.0.0.1:${mailServer.port}`,
      mailFrom: MAIL_FROM,
      databaseUrl,
    },
    beside: { databaseUrl, dataDir },
  });
  try {
    // Statements of the hub's startup are not observed.
    const before = await logSize();
    await drive(payments, population, CUSTOM);
    const custom = await plansSince(before);
    await forceGenericPlans(databaseUrl);
    await renewConnections(databaseUrl);
    const between = await logSize();
    await drive(payments, population, GENERIC);
    const generic = (await plansSince(between)).filter(({ text }) => names.byText.has(text));

    const byText = Map.groupBy([...custom, ...generic], ({ text }) => text);
    return [...byText].map(([text, executed]) => {
      const plans = executed.map(({ plan }) => plan);
      const worst = plans.reduce((one, other) => (blocksOf(other) > blocksOf(one) ? other : one));
      return { name: names.byText.get(text), text, executed, worst };
    });
  } finally {
    names.stop();
    await payments.stop();
    await mailServer.close();
    await resetPlanSettings(databaseUrl);
  }
}

/** Settings of a database apply only to new connections. */
async function renewConnections(databaseUrl: string): Promise<void> {
  await query(
    databaseUrl,
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'hub'`,
  );
}
