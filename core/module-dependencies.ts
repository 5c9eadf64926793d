// What the modules of the hub share.
import type { Logger } from 'pino';
import type { Metrics } from '../lib/metrics/metrics.ts';
import type { createTasks } from '../lib/metrics/tasks.ts';
import type { Clock } from './clock.ts';
import type { Database } from './storage/database.ts';
import type { Sealer } from './storage/secrets/sealing.ts';

export type ModuleDependencies = {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly tasks: ReturnType<typeof createTasks>;
};
