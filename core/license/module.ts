// Wires the license module: builds its services from their dependencies.
import type { Logger } from 'pino';
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { LicenseService } from '../../gen/hub/license/v1/license_service_pb.ts';
import type { Metrics } from '../../lib/metrics/metrics.ts';
import type { createTasks } from '../../lib/metrics/tasks.ts';
import type { Clock } from '../clock.ts';
import { repeatTask } from '../repeated-task.ts';
import { serve } from '../service-implementation.ts';
import type { Database } from '../storage/database.ts';
import type { Sealer } from '../storage/secrets/sealing.ts';
import { createActivate } from './activation/activate.ts';
import { createCheckStatus } from './activation/check-status.ts';
import { createDeactivate } from './activation/deactivate.ts';
import { createLastSeen } from './activation/last-seen.ts';
import { createApps } from './admin/apps.ts';
import { createIssueLicenses } from './admin/issue-licenses.ts';
import { createKeySecretAdmin } from './admin/key-secrets.ts';
import { createLimitProfiles } from './admin/limit-profiles.ts';
import { createSigningKeyAdmin } from './admin/rotate-signing-keys.ts';
import { createFindApp } from './admin/scope-lookup.ts';
import { createSeats } from './admin/seats.ts';
import { createLicenseKeys } from './admin/show-or-replace-key.ts';
import { createLicenseReaders } from './event-objects.ts';
import { createExpiryEvents, EXPIRY_EVERY_MS } from './expiry-events.ts';
import { createImportLicenses } from './import/import-licenses.ts';
import { createHashTypedKey } from './keys/hash-typed-key.ts';
import { createImportPepper } from './keys/import-pepper.ts';
import { createKeySecrets, keySecretSealedFor } from './keys/open-key-secrets.ts';
import { createPublishedKeys } from './keys/public-keys.ts';
import { createSigningKeyCache, sealedFor } from './keys/sign-license.ts';
import { createLicenseAdminService } from './license-admin-service.ts';
import { createLicenseService } from './license-service.ts';
import { createLicenseMetrics } from './metrics.ts';
import { licenseTableMetrics } from './table-metrics.ts';

export type LicenseModuleOptions = {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tasks: ReturnType<typeof createTasks>;
};

export function createLicenseModule(options: LicenseModuleOptions) {
  const { db, sealer, clock, logger } = options;
  const { pool } = db;
  const metrics = createLicenseMetrics(options.metrics);
  const lastSeen = createLastSeen({
    pool,
    onError: (err) => logger.warn({ err }, 'cannot write last-seen times'),
  });
  const keySecrets = createKeySecrets({ pool, sealer, clock });
  const signingKeys = createSigningKeyCache(pool, sealer);
  const importPepper = createImportPepper(keySecrets);
  const hashTypedKey = createHashTypedKey(importPepper);
  const limitProfiles = createLimitProfiles({ db, clock });
  const licenseKeys = createLicenseKeys({ db, keySecrets, clock });
  const expiry = repeatTask({
    everyMs: EXPIRY_EVERY_MS,
    pass: createExpiryEvents({ pool, clock }),
    task: options.tasks.of('license_expiry'),
    logger,
    failureMessage: 'cannot record events of expiries; the hub tries again',
  });
  const licenseService = createLicenseService({
    publishedKeys: createPublishedKeys(pool),
    activate: createActivate({ pool, hashTypedKey, signingKeys, lastSeen, metrics, clock }),
    deactivate: createDeactivate({ pool, hashTypedKey, metrics, clock }),
    checkStatus: createCheckStatus({ pool, lastSeen, clock }),
    limitProfiles,
  });
  const adminService = createLicenseAdminService({
    apps: createApps({ db, sealer, clock }),
    signingKeyAdmin: createSigningKeyAdmin({ db, sealer, clock }),
    limitProfiles,
    issueLicenses: createIssueLicenses({ db, sealer, keySecrets, clock }),
    importLicenses: createImportLicenses({ db, pepper: importPepper, clock }),
    licenseKeys,
    keySecretAdmin: createKeySecretAdmin({ db, sealer, clock }),
    seats: createSeats({ db, metrics, clock }),
    db,
    clock,
  });
  return {
    services: [serve(LicenseService, licenseService), serve(LicenseAdminService, adminService)],
    /** Sealed columns, to re-seal when the master key is rotated. */
    secrets: [
      { table: 'signing_key', idColumn: 'id', sealedColumn: 'sealed_private_key', about: sealedFor },
      { table: 'key_secret', idColumn: 'id', sealedColumn: 'sealed_secret', about: keySecretSealedFor },
    ],
    findApp: createFindApp(pool, hashTypedKey),
    figures: licenseTableMetrics,
    eventReaders: createLicenseReaders(db, clock),
    keySecrets,
    /** The key of the license with this UUID; undefined if the hub cannot derive it. */
    licenseKeyOf: licenseKeys.find,
    async close(): Promise<void> {
      await expiry.stop();
      await lastSeen.close();
    },
  };
}
