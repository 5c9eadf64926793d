// Hub processes on one database behind one front door, with the provider simulator. Tests can kill and
// restart them.
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, createClient } from '@connectrpc/connect';
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts';
import { openDataDir } from '../../../core/storage/data-dir.ts';
import { AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { OfferService } from '../../../gen/hub/order/v1/offer_service_pb.ts';
import { OrderService } from '../../../gen/hub/order/v1/order_service_pb.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { RefundService } from '../../../gen/hub/payment/v1/refund_service_pb.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { GATEWAYS, SLOTS } from '../../support/hub/payment.ts';
import { createMigratedDatabase, query } from '../../support/postgres/databases.ts';
import { type FrontDoor, openFrontDoor } from './front-door.ts';

export type Cluster = {
  readonly simulator: Simulator;
  readonly door: FrontDoor;
  readonly databaseUrl: string;
  /** Reports hubs that exited without being killed. */
  readonly deaths: readonly string[];
  /** The gateways of the running hubs. */
  gateways(): readonly string[];
  /** A client of one hub. Undefined while the hub starts. */
  hub(index: number): HubClients | undefined;
  /**
   * Kills a hub with SIGKILL or another signal, and resolves when its replacement is ready. Waits first if it
   * is starting.
   */
  replace(index: number, signal?: NodeJS.Signals): Promise<void>;
  /**
   * Sends SIGSTOP for this time, while all verification leases expire. Another hub may take those of the
   * frozen one.
   */
  freeze(index: number, ms: number): Promise<void>;
  /** Ends all database connections of all hubs, like a failover. */
  cutDatabase(): Promise<void>;
  stop(): Promise<void>;
};

export type HubClients = {
  readonly sessions: Client<typeof PaymentService>;
  readonly refunds: Client<typeof RefundService>;
  readonly admin: Client<typeof PaymentAdminService>;
  readonly licenses: Client<typeof LicenseAdminService>;
  readonly customers: Client<typeof CustomerService>;
  readonly events: Client<typeof EventService>;
  readonly offers: Client<typeof OfferService>;
  readonly orders: Client<typeof OrderService>;
  readonly audit: Client<typeof AuditService>;
};

export type ClusterOptions = {
  readonly hubs: number;
  /** The default is a new database on the server of the test run. */
  readonly databaseUrl?: string;
  /** HUB_… variables in addition to those that shorten the test. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The number of start attempts for a hub that exits. The default is three. */
  readonly startAttempts?: number;
};

/** By these rules, each payment has two fee lines. */
export const FEE_RULES = [
  { name: 'card', basisPoints: 250 },
  { name: 'tax', basisPoints: 100 },
] as const;

/** Starts the hubs with a slot at each gateway and two fee rules. */
export async function startCluster({
  hubs,
  environment,
  databaseUrl: given,
  startAttempts = START_ATTEMPTS,
}: ClusterOptions): Promise<Cluster> {
  await using undo = new AsyncDisposableStack();
  const dataDir = await makeDataDir();
  undo.defer(() => discard(dataDir));
  const databaseUrl = given ?? (await createMigratedDatabase());
  const door = await openFrontDoor();
  undo.defer(() => door.close());
  const simulator = await startSimulator({
    port: 0,
    grantsPerHour: 100_000, // faults expire many tokens
    retryDelaysMs: [500, 1_000, 2_000],
  });
  undo.defer(() => simulator.close());

  const running: (HubProcess | undefined)[] = [];
  const deaths: string[] = [];
  const stopped = { yet: false };
  const gateways = () => running.flatMap((each) => each?.gatewayUrl ?? []);
  const start = async (index: number): Promise<void> => {
    const variables = {
      HUB_DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl,
      HUB_PUBLIC_URL: door.url,
      HUB_CALLBACK_BUDGET_MS: '500',
      HUB_PROVIDER_TIMEOUT_MS: '1000',
      HUB_RETRY_DELAY_SECONDS: '1',
      HUB_SWEEP_AFTER_SECONDS: '1,2',
      ...environment,
    };
    const hub = await spawnStubbornly(variables, startAttempts);
    running[index] = hub;
    hub.child.once('exit', (code, signal) => {
      if (!stopped.yet && running[index] === hub) {
        deaths.push(`hub ${index} ended with ${code ?? signal}: ${hub.lines.slice(-3).join('\n')}`);
      }
    });
    door.leadTo(gateways());
  };
  const starts: Promise<void>[] = [];
  undo.defer(async () => {
    stopped.yet = true;
    await Promise.allSettled(starts);
    await Promise.all(running.map((hub) => hub?.stop()));
  });
  // The first hub creates the master key, the tables and the admin token.
  for (let index = 0; index < hubs; index++) {
    starts[index] = start(index);
    await starts[index];
  }
  const token = (await (await openDataDir(dataDir)).readAdminToken()) ?? '';
  const hub = (index: number): HubClients | undefined => {
    const { rpcUrl } = running[index] ?? {};
    if (rpcUrl === undefined) return undefined;
    const transport = transportTo(rpcUrl, token);
    return {
      sessions: createClient(PaymentService, transport),
      refunds: createClient(RefundService, transport),
      admin: createClient(PaymentAdminService, transport),
      licenses: createClient(LicenseAdminService, transport),
      customers: createClient(CustomerService, transport),
      events: createClient(EventService, transport),
      offers: createClient(OfferService, transport),
      orders: createClient(OrderService, transport),
      audit: createClient(AuditService, transport),
    };
  };
  await addSlotsAndRules(hub(0), simulator);
  const resources = undo.move();

  const replaceNow = async (index: number, signal: NodeJS.Signals): Promise<void> => {
    const victim = running[index];
    running[index] = undefined;
    door.leadTo(gateways());
    if (victim !== undefined && victim.child.exitCode === null) {
      const gone = once(victim.child, 'exit');
      victim.child.kill(signal);
      await gone;
    }
    if (!stopped.yet) await start(index);
  };
  return {
    simulator,
    door,
    databaseUrl,
    deaths,
    gateways,
    hub,
    replace(index, signal = 'SIGKILL') {
      const previous = starts[index] ?? Promise.resolve();
      const next = previous.then(() => replaceNow(index, signal));
      starts[index] = next;
      return next;
    },
    async freeze(index, ms) {
      const child = running[index]?.child;
      child?.kill('SIGSTOP');
      try {
        // Moves the expiry of leases forward instead of waiting for it.
        await query(
          databaseUrl,
          'update charge_session set verifying_until = now() where verifying_by is not null',
        );
        await pause(ms);
      } finally {
        child?.kill('SIGCONT');
      }
    },
    async cutDatabase() {
      await query(
        databaseUrl,
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name like 'hub%'`,
      );
    },
    stop: () => resources.disposeAsync(),
  };
}

const START_ATTEMPTS = 3;

/**
 * Starts a hub again if it exits, like a supervisor: a hub exits when it loses its database during startup.
 */
async function spawnStubbornly(environment: Record<string, string>, attempts: number): Promise<HubProcess> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await spawnHub(environment);
    } catch (error) {
      if (attempt === attempts) throw error;
    }
  }
}

async function addSlotsAndRules(hub: HubClients | undefined, simulator: Simulator): Promise<void> {
  if (hub === undefined) throw new Error('there is no hub');
  for (const gateway of GATEWAYS) {
    await hub.admin.addSlot({
      name: SLOTS[gateway],
      gateway,
      environment: SlotEnvironment.SANDBOX,
      baseUrl: `${simulator.url}/${gateway}`,
      credentials: simulator.credentials[gateway],
    });
  }
  for (const rule of FEE_RULES) await hub.admin.addFeeRule({ rule });
}
