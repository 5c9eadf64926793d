// The administration of payments on a database of its own, without the rest of the hub.

import { randomBytes } from 'node:crypto';
import { type Client, createClient } from '@connectrpc/connect';
import { type Logger, pino } from 'pino';
import type { Caller } from '../../../core/access/caller.ts';
import { systemClock } from '../../../core/clock.ts';
import { openHubDatabase } from '../../../core/hub/database.ts';
import { sessionToProto } from '../../../core/payment/messages.ts';
import { createPaymentAdminService } from '../../../core/payment/payment-admin-service.ts';
import type { PaymentDriver } from '../../../core/payment/providers/driver.ts';
import { createSlotAccess, type SlotAccess } from '../../../core/payment/slots/provider-connections.ts';
import { createInProcessTransport } from '../../../core/rpc/in-process/transport.ts';
import { createErrorInterceptor } from '../../../core/rpc/interceptors/domain-errors.ts';
import { createRpcMetrics } from '../../../core/rpc/interceptors/metrics.ts';
import { createRequestLog } from '../../../core/rpc/interceptors/request-log.ts';
import { createValidationInterceptor } from '../../../core/rpc/interceptors/validation.ts';
import { serve } from '../../../core/service-implementation.ts';
import type { Database } from '../../../core/storage/database.ts';
import { migrateUp } from '../../../core/storage/schema/migrate.ts';
import { type MasterKey, readMasterKeys } from '../../../core/storage/secrets/key-ring-file.ts';
import type { SealedColumn } from '../../../core/storage/secrets/reseal.ts';
import { createSealer, type Sealer } from '../../../core/storage/secrets/sealing.ts';
import { PaymentAdminService } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { createMetrics } from '../../../lib/metrics/metrics.ts';
import { createMigratedDatabase } from '../../support/postgres/databases.ts';

export type PaymentAdmin = {
  readonly client: Client<typeof PaymentAdminService>;
  /** Calls with a token that is limited to a slot. */
  limitedTo(slot: string): Client<typeof PaymentAdminService>;
  readonly db: Database;
  readonly databaseUrl: string;
  readonly sealer: Sealer;
  readonly slotAccess: SlotAccess;
  stop(): Promise<void>;
};

export type PaymentAdminOptions = {
  readonly driverOf: (gateway: string) => PaymentDriver;
  readonly clock?: () => Date;
  readonly logger?: Logger;
  readonly keys?: readonly MasterKey[];
  readonly otherSecrets?: readonly SealedColumn[];
  /** An existing database, such as another hub uses. */
  readonly databaseUrl?: string;
};

export async function startPaymentAdmin(options: PaymentAdminOptions): Promise<PaymentAdmin> {
  const { driverOf, clock = systemClock, logger = pino({ level: 'silent' }), otherSecrets = [] } = options;
  const databaseUrl = options.databaseUrl ?? (await createMigratedDatabase());
  const db = await openHubDatabase({ url: databaseUrl }, 5, logger);
  await migrateUp(db);
  const { pool } = db;
  const sealer = createSealer(options.keys ?? [freshMasterKey()]);
  const slotAccess = createSlotAccess({
    pool,
    sealer,
    clock,
    driverOf,
  });
  const service = createPaymentAdminService({
    db,
    pool,
    sealer,
    clock,
    logger,
    otherSecrets,
    driverOf,
    providers: slotAccess,
    showSessions: async (sessions) => sessions.map((session) => sessionToProto(session)),
    verifySession: notHere,
    busyWaitMs: 0,
    jobs: { requeue: notHere },
    process: { byId: notHere },
  });
  const transportOf = (caller: Caller) =>
    createInProcessTransport({
      services: [serve(PaymentAdminService, service)],
      interceptorsOf: () => [
        createRequestLog(logger, createRpcMetrics(createMetrics())).interceptor,
        createErrorInterceptor(logger),
        createValidationInterceptor(),
      ],
      defaultTimeoutMs: 10_000,
      caller,
    });
  const clientOf = (caller: Caller) => createClient(PaymentAdminService, transportOf(caller));
  return {
    client: clientOf({ name: 'the operator', role: 'admin' }),
    limitedTo: (slot) => clientOf({ name: slot, role: 'operator', scope: { apps: [], slots: [slot] } }),
    db,
    databaseUrl,
    sealer,
    slotAccess,
    async stop() {
      await slotAccess.close();
      await db.close();
    },
  };
}

/** A new line for a key ring. */
export function freshMasterKey(): MasterKey {
  const [key] = readMasterKeys(randomBytes(32).toString('base64'));
  if (key === undefined) throw new Error('a fresh key was not read');
  return key;
}

const notHere = () => Promise.reject(new Error('callbacks and verification are no part of these tests'));
