// What several parts of the payment module need.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
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
export type AdminDependencies = Pick<ModuleDependencies, 'db' | 'sealer' | 'clock'> & {
  /** @throws HubError `gateway_unknown` */
  readonly driverOf: (gateway: string) => PaymentDriver;
};
