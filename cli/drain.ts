// The time between a signal to stop and the end of serving: load balancers notice meanwhile.
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Settings } from './settings.ts';

/** If it is not set. */
export const DRAIN_SECONDS = 5;

/** Resolves when the hub may stop. A person at a terminal does not wait. */
export async function drain(
  { drainSeconds }: Pick<Settings, 'drainSeconds'>,
  logger: Logger,
  signal: string,
): Promise<void> {
  const isTerminal = process.stdin.isTTY || process.stdout.isTTY;
  const seconds = drainSeconds ?? (isTerminal ? 0 : DRAIN_SECONDS);
  if (seconds === 0) return;
  logger.info({ signal, seconds }, 'hub is draining: it serves on, and is not ready');
  await setTimeout(seconds * 1_000);
}
