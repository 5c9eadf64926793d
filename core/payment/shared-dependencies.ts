// What several parts of the payment module need.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { Database } from '../storage/database.ts';
import type { Sealer } from '../storage/secrets/sealing.ts';
import type { PaymentMetrics } from './metrics.ts';
import type { PaymentDriver } from './providers/driver.ts';

/** For the code that processes payments. */
export type PaymentDependencies = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: PaymentMetrics;
};

/** For the code that operators use. */
export type AdminDependencies = {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** @throws HubError `gateway_unknown` */
  readonly driverOf: (gateway: string) => PaymentDriver;
};
