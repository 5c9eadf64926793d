// Wires the license module: builds its services from their dependencies.
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { LicenseService } from '../../gen/hub/license/v1/license_service_pb.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import { repeatTask } from '../repeated-task.ts';
import { serve } from '../service-implementation.ts';
import { createLastSeen } from './activation/last-seen.ts';
import { createFindApp } from './admin/scope-lookup.ts';
import { createLicenseKeys } from './admin/show-or-replace-key.ts';
import { createLicenseReaders } from './event-objects.ts';
import { createExpiryEvents, EXPIRY_EVERY_MS } from './expiry-events.ts';
import { createHashTypedKey } from './keys/hash-typed-key.ts';
import { createImportPepper } from './keys/import-pepper.ts';
import { createKeySecrets, keySecretSealedFor } from './keys/open-key-secrets.ts';
import { createSigningKeyCache, sealedFor } from './keys/sign-license.ts';
import { createLicenseAdminService } from './license-admin-service.ts';
import { createLicenseService } from './license-service.ts';
import { createLicenseMetrics } from './metrics.ts';
import { licenseTableMetrics } from './table-metrics.ts';

export function createLicenseModule(options: ModuleDependencies) {
  const { db, sealer, clock, logger } = options;
  const { pool } = db;
  const metrics = createLicenseMetrics(options.metrics);
  const lastSeen = createLastSeen({
    pool,
    onError: (err) => logger.warn({ err }, 'cannot write last-seen times'),
  });
  const keySecrets = createKeySecrets({ pool, sealer, clock });
  const signingKeys = createSigningKeyCache(pool, sealer);
  const pepper = createImportPepper(keySecrets);
  const hashTypedKey = createHashTypedKey(pepper);
  const expiry = repeatTask({
    everyMs: EXPIRY_EVERY_MS,
    pass: createExpiryEvents({ pool, clock }),
    task: options.tasks.of('license_expiry'),
    logger,
    failureMessage: 'cannot record events of expiries; the hub tries again',
  });
  const common = { db, metrics, clock };
  const service = createLicenseService({ ...common, pool, hashTypedKey, signingKeys, lastSeen });
  const adminService = createLicenseAdminService({ ...common, sealer, keySecrets, pepper });
  return {
    services: [serve(LicenseService, service), serve(LicenseAdminService, adminService)],
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
    licenseKeyOf: createLicenseKeys({ db, keySecrets, clock }).findIssued,
    async close(): Promise<void> {
      await expiry.stop();
      await lastSeen.close();
    },
  };
}
