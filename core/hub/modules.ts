// Creates the modules of the hub, and the services of all of them.
import { AccessService } from '../../gen/hub/access/v1/access_service_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { CustomerService } from '../../gen/hub/customer/v1/customer_service_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { RetentionService } from '../../gen/hub/retention/v1/retention_service_pb.ts';
import type { Family } from '../../lib/metrics/family.ts';
import { createAccessService } from '../access/access-service.ts';
import { ensureLocalToken } from '../access/local-token.ts';
import type { FindOwner } from '../access/scope.ts';
import { createTokens } from '../access/token-admin.ts';
import { createTokenService } from '../access/token-service.ts';
import { openHeadFile } from '../audit/head-file.ts';
import { createAuditModule } from '../audit/module.ts';
import { systemClock } from '../clock.ts';
import { createCustomerService } from '../customer/customer-service.ts';
import { createCustomerReader } from '../customer/messages.ts';
import { CUSTOMER_KEYS, createOpenEntries } from '../customer/personal-data.ts';
import { ENDPOINT_SECRETS } from '../event/endpoint/endpoint-secrets.ts';
import { createEventModule } from '../event/module.ts';
import { createLicenseModule } from '../license/module.ts';
import { createMailModule } from '../mail/module.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import { createOrderModule } from '../order/module.ts';
import { createPaymentModule } from '../payment/module.ts';
import { createPrune } from '../retention/prune.ts';
import { createRetentionService } from '../retention/retention-service.ts';
import { createMetricsService } from '../rpc/endpoints/metrics-service.ts';
import { createSerialQueue } from '../serial-queue.ts';
import { serve } from '../service-implementation.ts';
import { type Figures, measureDatabase } from '../storage/database-metrics.ts';
import { partitionMetrics } from '../storage/schema/partition-metrics.ts';
import { createSealer } from '../storage/secrets/sealing.ts';
import type { OpenedDatabase, WireDatabaseOptions } from './database.ts';

export type Modules = Awaited<ReturnType<typeof wireModules>>;

export type WireModulesOptions = OpenedDatabase &
  Omit<WireDatabaseOptions, 'onFatal'> & {
    readonly collect: () => Promise<Family[]>;
    /** Aborted when payments and mails have to stop work in progress. */
    readonly ending: AbortSignal;
  };

export async function wireModules(options: WireModulesOptions) {
  const { config, db, address, dataDir, keys, clock, logger, metrics, tasks, undo, ending } = options;
  const sealer = createSealer(keys);
  const common = { db, sealer, clock, logger, metrics, tasks };
  const audit = await wireAudit(options, common);
  // After the audit chain has begun: a new token is recorded in it.
  const adminToken = await ensureLocalToken(db.pool, dataDir, clock);
  const licenses = createLicenseModule(common);
  undo.defer(() => licenses.close());
  const { keySecrets } = licenses;
  const mails = createMailModule({ ...common, config: config.mail, keySecrets, ending });
  undo.defer(() => mails.close());
  const orders = createOrderModule({ ...common, keySecrets, queueMails: mails.queueMails });
  const payments = await createPaymentModule({
    ...common,
    config: config.payment,
    address,
    sales: orders.sales,
    otherSecrets: [...licenses.secrets, CUSTOMER_KEYS, ...ENDPOINT_SECRETS, ...audit.secrets],
    ending,
  });
  undo.defer(() => payments.close());
  const events = createEventModule({
    ...common,
    allowedNetworks: config.eventAllowNetworks,
    readers: {
      ...licenses.eventReaders,
      ...payments.eventReaders,
      ...orders.eventReaders,
      ...createCustomerReader(db),
    },
    licenseKeyOf: licenses.licenseKeyOf,
  });
  undo.defer(() => events.close());
  const customerService = createCustomerService({
    db,
    sealer,
    clock,
    lockSessions: payments.lockSessionsOfCustomer,
    erasers: [payments.erasePersonalData, events.erasePersonalData],
    // An erasure keeps one connection while it waits for the lock `event_counter`. The holder of the lock
    // needs two.
    queue: config.poolSize > 2 ? createSerialQueue() : events.counterQueue,
  });
  measure(options, [licenses, payments, orders, mails, events, audit]);

  const findOwner: FindOwner = {
    ...licenses.findApp,
    ...payments.findSlot,
    ...orders.findOwner,
    ...mails.findOwner,
  };
  const guards = [payments.pruneGuard, events.pruneGuard, audit.pruneGuard];
  const prune = createPrune({ pool: db.pool, clock, guards });
  return {
    services: [
      ...licenses.services,
      serve(CustomerService, customerService),
      ...payments.services,
      ...orders.services(payments),
      ...mails.services,
      ...events.services,
      ...audit.services,
      serve(AccessService, createAccessService(config.version, options.givenClock ?? systemClock)),
      serve(RetentionService, createRetentionService(prune)),
      serve(MetricsService, createMetricsService(options.collect)),
      serve(TokenService, createTokenService(createTokens({ db, clock, findOwner }))),
    ],
    findOwner,
    adminToken,
  };
}

async function wireAudit({ config, dataDir, undo }: WireModulesOptions, common: ModuleDependencies) {
  const audit = await createAuditModule({
    ...common,
    openEntries: createOpenEntries(common.db.pool, common.sealer),
    headFile: openHeadFile(config.auditHeadFile ?? dataDir.auditHeadFile),
  });
  undo.defer(() => audit.close());
  return audit;
}

/** Measures the database, and the tables of the modules. */
function measure(
  { db, config, metrics, clock }: WireModulesOptions,
  modules: readonly { readonly figures: Figures }[],
): void {
  measureDatabase({
    pool: db.pool,
    poolSize: config.poolSize,
    metrics,
    figures: [...modules.map(({ figures }) => figures), partitionMetrics(clock)],
  });
}
