// The delay between a stop signal and the end of serving, in which load balancers notice.
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Settings } from './setting-table.ts';

/** The default in seconds. */
export const DRAIN_SECONDS = 5;

/** Resolves when the hub may stop: at once on a terminal. */
export async function drain(
  { drainSeconds }: Pick<Settings, 'drainSeconds'>,
  logger: Logger,
  signal: string,
): Promise<void> {
  const isTerminal = process.stdin.isTTY || process.stdout.isTTY;
  const seconds = drainSeconds ?? (isTerminal ? 0 : DRAIN_SECONDS);
  if (seconds === 0) return;
  logger.info({ signal, seconds }, 'hub is draining: it still serves, but is not ready');
  await setTimeout(seconds * 1_000);
}
