// Starts the hub as in production: `hubctl serve` with all features on and its log in a file.
import { join } from 'node:path';
import { createClient, type Transport } from '@connectrpc/connect';
import { newUuid } from '../../../core/ids.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { OfferService } from '../../../gen/hub/order/v1/offer_service_pb.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { localToken } from '../../support/hub/data-dir.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { HUBCTL } from '../../support/hub/hub-process.ts';
import { createDatabase, query } from '../../support/postgres/databases.ts';
import {
  APP,
  CUSTOMER,
  countOf,
  LIMITS,
  MACHINE,
  machineOf,
  OFFER,
  SEATS,
  type SessionData,
  type TestDatabase,
} from '../test-data.ts';
import { startChild } from './child.ts';
import { insertPurchases, insertSessions } from './hub-sessions.ts';
import type { Server } from './side.ts';

export type HubSide = Server & {
  readonly database: TestDatabase;
  readonly databaseUrl: string;
  /** The RPC port, with the admin token. */
  readonly transport: Transport;
  readonly publicKeyPem: string;
};

export type HubOptions = {
  readonly directory: string;
  readonly redisUrl: string;
  readonly providerUrl: string;
  /** For the hub of another checkout. */
  readonly name?: 'hub' | 'other';
  readonly hubctl?: string;
  /** More settings. */
  readonly env?: Readonly<Record<string, string>>;
};

/**
 * The rate limit stays on, but at its maximum: all requests come from one client. A hub does not query Redis
 * before a client reaches half of its limit per minute. All other settings have their default values.
 */
export const RATE_PER_MINUTE = 100_000_000;

export async function startHub({
  directory,
  redisUrl,
  providerUrl,
  name = 'hub',
  hubctl = HUBCTL,
  env = {},
}: HubOptions): Promise<HubSide> {
  const databaseUrl = await createDatabase();
  const dataDir = join(directory, name);
  const child = await startChild({
    name,
    args: [hubctl, 'serve', '--port', '0', '--rpc-port', '0', '--data-dir', dataDir],
    env: {
      DATABASE_URL: databaseUrl,
      ...(redisUrl !== '' && { REDIS_URL: redisUrl }),
      HUB_LICENSE_RATE_PER_MINUTE: String(RATE_PER_MINUTE),
      ...env,
    },
    logFile: join(directory, `${name}.log`),
    readyText: 'hub is ready',
  });
  const { gateway, rpc } = JSON.parse(child.ready);
  const token = await localToken(dataDir);
  const transport = transportTo(rpc, token);
  const { app } = await createClient(LicenseAdminService, transport).createApp({ slug: APP });
  const payments = createClient(PaymentAdminService, transport);
  await addSlot(transport, SLOT, providerUrl);
  await payments.addFeeRule({ rule: { name: 'gateway', basisPoints: 250 } });
  await payments.addFeeRule({
    rule: { name: 'platform', basisPoints: 100, currency: 'BDT', fixedMinorUnits: 5n },
  });
  return {
    ...child,
    name,
    port: Number(new URL(gateway).port),
    databaseUrl,
    transport,
    publicKeyPem: app?.signingKeys[0]?.publicKeyPem ?? '',
    database: testDatabaseOf(databaseUrl, transport),
  };
}

const SLOT = 'store';

function testDatabaseOf(databaseUrl: string, transport: Transport): TestDatabase {
  let offer: Promise<unknown> | undefined;
  const sellIn = async (sessions: readonly SessionData[]): Promise<void> => {
    offer ??= createOffer(transport, APP); // not earlier: the hub of another checkout may have no offers
    await offer;
    const [customer] = await query<{ id: string }>(databaseUrl, 'select id from customer where name = $1', [
      CUSTOMER,
    ]);
    if (customer === undefined) throw new Error(`there is no customer ${CUSTOMER}`);
    const purchases = sessions.map((session) => ({ session, customerUuid: customer.id }));
    await insertPurchases(databaseUrl, OFFER.slug, purchases);
  };
  return {
    async addLicenses(licenses) {
      await query(
        databaseUrl,
        `with one_customer as (
           insert into customer (id, name, created_at) values (gen_random_uuid(), $3, now()) returning id
         )
         insert into license (id, app_id, key_hash, key_hint, customer_id, seat_limit, limits, created_at)
         select t.id, app.id, t.key_hash, 'bench', one_customer.id, $4, $5, now()
         from unnest($1::uuid[], $2::bytea[]) as t (id, key_hash), app, one_customer where app.slug = $6`,
        [
          licenses.map(({ uuid }) => uuid),
          licenses.map(({ keyHash }) => keyHash),
          CUSTOMER,
          SEATS,
          LIMITS,
          APP,
        ],
      );
      await query(databaseUrl, 'analyze');
    },
    async resetSeats(licenses) {
      await query(databaseUrl, 'truncate seat');
      await query(
        databaseUrl,
        `insert into seat (id, license_id, machine_fingerprint, machine_label, app_version, activated_at, last_seen_at)
         select id, license_id, $3, $4, $5, now(), now() from unnest($1::uuid[], $2::uuid[]) as t (id, license_id)`,
        [
          licenses.map(() => newUuid()),
          licenses.map(({ uuid }) => uuid),
          machineOf(0),
          MACHINE.label,
          MACHINE.appVersion,
        ],
      );
      await query(databaseUrl, 'analyze');
    },
    async addSessions(sessions, kind) {
      await insertSessions(databaseUrl, SLOT, sessions);
      if (kind === 'order') await sellIn(sessions);
      await query(databaseUrl, 'analyze');
    },
    count: (sql) => countOf(databaseUrl, sql),
    deferred: DEFERRED,
  };
}

/** Selects the rows that the hub still has to process after its responses: audit entries and events. */
export const DEFERRED = 'select from audit_unlinked union all select from event_outbox';

/** Adds a slot of the provider of the benchmark, which confirms every payment. */
export async function addSlot(transport: Transport, name: string, providerUrl: string): Promise<void> {
  await createClient(PaymentAdminService, transport).addSlot({
    name,
    gateway: 'gateway_one',
    environment: SlotEnvironment.SANDBOX,
    baseUrl: `${providerUrl}/gateway_one`,
    credentials: { storeId: 'store', storePassword: 'secret' },
  });
}

/** Creates `OFFER`, for 100.00 BDT. */
export function createOffer(transport: Transport, app: string): Promise<unknown> {
  const { slug, name, features, validDays } = OFFER;
  return createClient(OfferService, transport).createOffer({
    app,
    slug,
    terms: {
      name,
      prices: [{ minorUnits: 10_000n, currency: 'BDT' }],
      grant: { case: 'license', value: { seatLimit: SEATS, features, validFor: { days: validDays } } },
    },
  });
}
