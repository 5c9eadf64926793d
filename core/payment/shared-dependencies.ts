// What several parts of the payment module need.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Database } from '../storage/database.ts';
import type { Sealer } from '../storage/secrets/sealing.ts';
import type { PaymentMetrics } from './metrics.ts';
import type { PaymentDriver } from './providers/driver.ts';

/** What processes payments. */
export type Shared = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: PaymentMetrics;
};

/** What operators administer payments with. */
export type AdminShared = {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** @throws HubError `gateway_unknown` */
  readonly driverOf: (gateway: string) => PaymentDriver;
};
