// Measures which objects survive the collections of V8's young generation, although nothing uses them anymore.
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options: { type: 'major' | 'minor' }) => void; // as V8's own extension has it

const BETWEEN_COLLECTIONS = 500;

/**
 * Runs `work` this many times, with a minor collection after every 500 times. Returns the bytes that it adds to old space,
 * where only a major collection removes them. What `work` uses from before is in old space already.
 */
export async function survivingBytes(times: number, work: () => unknown): Promise<number> {
  /** Sums the growth, because V8 may make a major collection of its own. */
  const run = async (count: number): Promise<number> => {
    let [growth, last] = [0, oldBytes()];
    const collectYoung = (): void => {
      collect({ type: 'minor' });
      const now = oldBytes();
      growth += Math.max(0, now - last);
      last = now;
    };
    for (let time = 1; time <= count; time++) {
      await work();
      if (time % BETWEEN_COLLECTIONS === 0) collectYoung();
    }
    // An object moves to old space when it survives the second collection.
    collectYoung();
    collectYoung();
    return growth;
  };
  await run(2 * BETWEEN_COLLECTIONS); // compiles the code
  collectAll();
  return run(times);
}

/** Collects all objects that nothing uses. */
export function collectAll(): void {
  collect({ type: 'major' });
}

function oldBytes(): number {
  return getHeapSpaceStatistics()
    .filter(({ space_name: name }) => name === 'old_space' || name === 'large_object_space')
    .reduce((sum, { space_used_size: bytes }) => sum + bytes, 0);
}
