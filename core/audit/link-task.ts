// Background task that links audit entries every second, and saves and logs the head of the chain.
import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Task } from '../../lib/metrics/tasks.ts';
import { DAY_MS, MINUTE_MS } from '../clock.ts';
import { repeatTask } from '../repeated-task.ts';
import { type ChainHead, formatHead } from './chain.ts';
import { ChainStopped } from './chain-stopped.ts';
import type { HeadMonitor } from './head-monitor.ts';

export type LinkTask = ReturnType<typeof startLinkTask>;

export type LinkTaskOptions = {
  readonly pool: Pool;
  /** Links all committed entries. */
  readonly link: () => Promise<void>;
  readonly headMonitor: HeadMonitor;
  readonly logger: Logger;
  readonly task: Task;
};

const EVERY_MS = 1_000;

/** docs/audit.md quotes this message, and operators search for it. */
const HEAD_MESSAGE = 'head of the audit chain';

/**
 * Saves the head of the chain after linking, and at least once a minute. Logs the head on start, once a day
 * and on stop: an auditor compares the log with the chain to find out whether the chain was truncated.
 */
export function startLinkTask({ pool, link, headMonitor, logger, task }: LinkTaskOptions) {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let loggedAt = Number.NEGATIVE_INFINITY;
  let stopped: ChainStopped | undefined;

  const logHead = (head: ChainHead): void => {
    loggedAt = performance.now();
    logger.info({ head: formatHead(head) }, HEAD_MESSAGE);
  };
  const checkHead = async (): Promise<void> => {
    checkedAt = performance.now();
    const head = await headMonitor.check();
    if (performance.now() - loggedAt > DAY_MS) logHead(head);
  };
  const recordStop = (error: unknown): void => {
    if (!(error instanceof ChainStopped)) return;
    if (stopped?.message !== error.message) {
      const { problem, message } = error;
      logger.error({ problem, detail: message }, 'audit entries are not linked: see hubctl audit verify');
    }
    stopped = error;
  };
  const repeated = repeatTask({
    everyMs: EVERY_MS,
    firstWithinMs: 0, // each start logs the head of the chain
    async pass() {
      try {
        // Without the lock of the chain: the queue is mostly empty.
        const { rows } = await pool.query('select from audit_unlinked limit 1');
        if (rows.length > 0) await link();
        if (rows.length > 0 || performance.now() - checkedAt > MINUTE_MS) {
          await checkHead();
          stopped = undefined;
        }
      } catch (error) {
        recordStop(error);
        throw error;
      }
    },
    task,
    logger,
    failureMessage: 'cannot link audit entries now',
  });

  return {
    /** Why entries cannot be linked; undefined if they can. */
    get stopped(): ChainStopped | undefined {
      return stopped;
    },
    /** Links the remaining entries and logs the head of the chain. */
    async stop(): Promise<void> {
      await repeated.stop();
      try {
        await link();
        logHead(await headMonitor.check());
      } catch (error) {
        logger.warn({ err: error }, 'cannot link the last audit entries; the next hub links them');
      }
    },
  };
}
