// Warms up a server. V8 compiles hot code while it runs, and the hub has more code to compile than the peer.
import type { Plan } from './measurement-plan.ts';

/** A server is warm when two windows in a row improve on the best earlier window by less than this factor. */
const GAIN = 1.03;

/**
 * Measures windows until the rate stops rising, and resolves with the rate of each. `measure` receives the
 * last rate.
 */
export async function warmUp(
  { windowSeconds, windowsAtMost }: Plan['warmUp'],
  measure: (seconds: number, rate: number | undefined) => Promise<number>,
): Promise<number[]> {
  const rates: number[] = [];
  for (let best = 0, without = 0; rates.length < windowsAtMost && without < 2; ) {
    const rate = await measure(windowSeconds, rates.at(-1));
    without = rate > best * GAIN ? 0 : without + 1;
    best = Math.max(best, rate);
    rates.push(rate);
  }
  return rates;
}
