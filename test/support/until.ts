// Waits for a condition instead of for a time.
import { setTimeout } from 'node:timers/promises';

const POLL_MS = 50;

/** Resolves once `condition` holds; after `limitMs` it throws, naming what it waited for. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  limitMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${limitMs} ms in vain until ${what}`);
    await setTimeout(POLL_MS);
  }
}
