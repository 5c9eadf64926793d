// Waits for a condition instead of a fixed time.
import { setTimeout } from 'node:timers/promises';

const POLL_MS = 50;

/** Resolves when `condition` is true. After `limitMs` it throws an error that names the condition. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  limitMs = 20_000,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`waited ${limitMs} ms in vain until ${what}`);
    await setTimeout(POLL_MS);
  }
}
