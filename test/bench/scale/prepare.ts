// Prepares a database with months of data. A hub creates an app, two slots and fee rules, and COPY adds the
// rest.
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import pg from 'pg';
import { createLogger } from '../../../cli/serve/logger.ts';
import { runHub } from '../../../cli/serve/run-hub.ts';
import { readSettings } from '../../../cli/serve/settings.ts';
import { readChainKey } from '../../../core/audit/chain-key.ts';
import { openDataDir } from '../../../core/storage/data-dir.ts';
import { loadKeyRing } from '../../../core/storage/secrets/load-key-ring.ts';
import { createSealer } from '../../../core/storage/secrets/sealing.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CURRENCY, type FeeRule, type ReferencedRows } from './made-rows.ts';
import { populate } from './populate.ts';
import type { Population } from './population.ts';

export type PrepareOptions = {
  /** The URL of an empty database. The user must be a superuser. */
  readonly databaseUrl: string;
  /** The directory of the hub's master key. Every later hub on this database needs the same key. */
  readonly dataDir: string;
  readonly licenses: number;
  /** Charge sessions. The default is one per ten licenses. */
  readonly sessions?: number;
  readonly log?: (message: string) => void;
};

export type Prepared = {
  readonly population: Population;
  /** Slug of the app that all licenses belong to. */
  readonly app: string;
};

/** The period of the generated data. */
const MONTHS = 6;

export async function prepare({
  databaseUrl,
  dataDir,
  licenses,
  sessions = Math.floor(licenses / 10),
  log,
}: PrepareOptions): Promise<Prepared> {
  const to = new Date();
  const from = new Date(Date.UTC(to.getUTCFullYear(), to.getUTCMonth() - MONTHS + 1, 1));
  // Dates the setup before the generated data, because the audit log must begin with it.
  await setUp(databaseUrl, dataDir, from);
  const population = { licenses, sessions, from: from.getTime(), to: to.getTime() };
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  try {
    const { keys } = await loadKeyRing({}, await openDataDir(dataDir));
    const auditKey = await readChainKey(pool, createSealer(keys));
    const referencedRows = await readReferencedRows(pool);
    await populate({ databaseUrl, population, referencedRows, auditKey, ...(log && { log }) });
    // Otherwise the next hub records an event for each license that has expired since the setup.
    await pool.query('delete from license_expiry_mark');
    await fillQueue(pool, Math.min(population.sessions, MAX_JOBS));
  } finally {
    await pool.end();
  }
  return { population, app: SCALE_APP };
}

/** The slug of the app of all licenses. */
export const SCALE_APP = 'scale';
const SLOTS = { gateway_one: 'scale-one', gateway_two: 'scale-two' } as const;
const CREDENTIALS = {
  gateway_one: { storeId: 'scale', storePassword: 'scale-password' },
  gateway_two: { username: 'scale', password: 'scale-password', appKey: 'scale', appSecret: 'scale-secret' },
} as const;

async function setUp(databaseUrl: string, dataDir: string, at: Date): Promise<void> {
  const settings = readSettings({ port: '0', rpcPort: '0', role: 'core' }, { DATABASE_URL: databaseUrl });
  const hub = await runHub(settings, {
    dataDir,
    logger: createLogger('silent', process.stderr),
    clock: () => at,
  });
  try {
    if (hub.core === undefined) throw new Error('a hub in the role core has a core');
    const authorization = `Bearer ${hub.core.adminToken.reveal()}`;
    const transport = createConnectTransport({
      baseUrl: hub.core.rpcUrl,
      httpVersion: '1.1',
      interceptors: [
        (next) => (request) => {
          request.header.set('authorization', authorization);
          return next(request);
        },
      ],
    });
    const licenses = createClient(LicenseAdminService, transport);
    await licenses.createApp({ slug: SCALE_APP, name: 'Scale' });
    await licenses.setLimitProfile({ app: SCALE_APP, name: 'pro', limits: { projects: -1n } });
    const payments = createClient(PaymentAdminService, transport);
    for (const gateway of ['gateway_one', 'gateway_two'] as const) {
      await payments.addSlot({
        name: SLOTS[gateway],
        gateway,
        environment: SlotEnvironment.SANDBOX,
        baseUrl: `http://127.0.0.1:9/${gateway}`,
        credentials: CREDENTIALS[gateway],
      });
    }
    await payments.addFeeRule({ rule: { name: 'gateway', basisPoints: 150 } });
    await payments.addFeeRule({
      rule: { name: 'platform', basisPoints: 25, currency: CURRENCY, fixedMinorUnits: 100n },
    });
  } finally {
    await hub.stop(5_000);
  }
}

async function readReferencedRows(pool: pg.Pool): Promise<ReferencedRows> {
  const one = async (text: string, values: unknown[]): Promise<string> => {
    const { rows } = await pool.query<{ id: string }>(text, values);
    if (rows[0] === undefined) throw new Error(`nothing was set up: ${text}`);
    return rows[0].id;
  };
  const slot = (name: string) => one('select id from slot where name = $1', [name]);
  const { rows: rules } = await pool.query<Omit<FeeRule, 'fixedMinor'> & { fixedMinor: string }>(
    'select id, name, version, basis_points as "basisPoints", fixed_minor as "fixedMinor" from fee_rule order by name',
  );
  return {
    appId: await one('select id from app where slug = $1', [SCALE_APP]),
    limitProfileId: await one('select id from limit_profile where name = $1', ['pro']),
    slotIds: { gateway_one: await slot(SLOTS.gateway_one), gateway_two: await slot(SLOTS.gateway_two) },
    feeRules: rules.map(({ fixedMinor, ...rule }) => ({ ...rule, fixedMinor: BigInt(fixedMinor) })),
  };
}

/**
 * The upper bound of jobs: the queue keeps a job for the duration of a callback, or for an hour. See
 * core/payment/callbacks/job-queue.ts.
 */
const MAX_JOBS = 20_000;

/** Finished jobs that are not deleted yet. */
async function fillQueue(pool: pg.Pool, count: number): Promise<void> {
  await pool.query(
    `insert into job (name, data, state, started_on, completed_on, keep_until)
     select name, '{}', 'completed', now(), now(), now() + interval '1 hour'
     from queue cross join generate_series(1, $1) where name = 'callback'`,
    [count],
  );
  await pool.query(`analyze job`);
}
