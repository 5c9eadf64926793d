// Runs the steps of a random plan.
import { setTimeout as pause } from 'node:timers/promises';

/** On a busy machine, more steps would run before the things that they are about exist. */
const AT_ONCE = 12;

/**
 * Runs steps one after another; their work continues. Resolves at the end of all.
 *
 * @param isExpected whether an error of a step is one that the plan causes
 * @throws AggregateError of all other errors
 */
export async function runSteps<T>(
  plan: readonly { readonly step: T; readonly thenMs: number }[],
  run: (step: T) => Promise<void>,
  isExpected: (error: unknown) => boolean,
): Promise<void> {
  const underWay = new Set<Promise<unknown>>();
  const surprises: unknown[] = [];
  for (const { step, thenMs } of plan) {
    const work: Promise<unknown> = run(step)
      .catch((error) => {
        if (!isExpected(error)) surprises.push(error);
      })
      .finally(() => underWay.delete(work));
    underWay.add(work);
    await pause(thenMs);
    while (underWay.size >= AT_ONCE) await Promise.race(underWay);
  }
  await Promise.all(underWay);
  if (surprises.length > 0) throw new AggregateError(surprises, `${surprises}`);
}
