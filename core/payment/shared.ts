// What most parts of the payment module need.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import type { PaymentMetrics } from './metrics.ts';

export type Shared = {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: PaymentMetrics;
};
