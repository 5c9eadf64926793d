// The license room, put together: what it needs in, its services out.
import type { Logger } from 'pino';
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { LicenseService } from '../../gen/hub/license/v1/license_service_pb.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import type { FindOwner } from '../access/scope.ts';
import type { Clock } from '../clock.ts';
import { type ServiceEntry, serve } from '../service-entry.ts';
import type { Database } from '../storage/database.ts';
import type { Figures } from '../storage/database-figures.ts';
import type { SealedColumn } from '../storage/reseal.ts';
import type { Sealer } from '../storage/sealing.ts';
import { createActivate } from './activate.ts';
import { createApps } from './apps.ts';
import { createCheckStatus } from './check-status.ts';
import { createDeactivate } from './deactivate.ts';
import { createIssueLicenses } from './issue-licenses.ts';
import { createKeyring, sealedFor } from './keyring.ts';
import { createLastSeen } from './last-seen.ts';
import { createLicenseAdminService } from './license-admin-service.ts';
import { licenseFigures } from './license-figures.ts';
import { createLicenseMeter } from './license-meter.ts';
import { createLicenseService } from './license-service.ts';
import { createLicenses } from './licenses.ts';
import { createLimitProfiles } from './limit-profiles.ts';
import { createFindApp } from './owners.ts';
import { createPublishedKeys } from './public-keys.ts';
import { createSeats } from './seats.ts';

export type LicenseRoomOptions = {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
};

export type LicenseRoom = {
  readonly services: readonly ServiceEntry[];
  /** Where this room keeps what is sealed. */
  readonly secrets: readonly SealedColumn[];
  readonly findApp: Pick<FindOwner, 'app' | 'license' | 'licenseKey' | 'seat'>;
  readonly figures: Figures;
  close(): Promise<void>;
};

export function createLicenseRoom({ db, sealer, clock, logger, metrics }: LicenseRoomOptions): LicenseRoom {
  const { pool } = db;
  const meter = createLicenseMeter(metrics);
  const lastSeen = createLastSeen({
    pool,
    onError: (err) => logger.warn({ err }, 'last-seen times were not written'),
  });
  const limitProfiles = createLimitProfiles({ db, clock });
  const consumer = createLicenseService({
    publishedKeys: createPublishedKeys(pool),
    activate: createActivate({ pool, keyring: createKeyring(pool, sealer), lastSeen, meter, clock, logger }),
    deactivate: createDeactivate({ pool, meter, clock }),
    checkStatus: createCheckStatus({ pool, lastSeen, clock }),
    limitProfiles,
  });
  const admin = createLicenseAdminService({
    apps: createApps({ db, sealer, clock }),
    limitProfiles,
    issueLicenses: createIssueLicenses({ db, clock }),
    licenses: createLicenses({ db, clock }),
    seats: createSeats({ db, meter, clock }),
    clock,
  });
  return {
    services: [serve(LicenseService, consumer), serve(LicenseAdminService, admin)],
    secrets: [{ table: 'signing_key', idColumn: 'id', sealedColumn: 'sealed_private_key', about: sealedFor }],
    findApp: createFindApp(pool),
    figures: licenseFigures,
    close: () => lastSeen.close(),
  };
}
