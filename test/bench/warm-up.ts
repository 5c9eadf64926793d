// Warms a server up: V8 compiles what is hot while it runs, and a hub has more code than a peer to compile.
import type { Plan } from './plan.ts';

/** Two windows in a row that gain less than this on the best one before them: it is warm. */
const GAIN = 1.03;

/** Measures window after window until the rate stops rising; resolves with the rate of each. `measure` is told the last one. */
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
