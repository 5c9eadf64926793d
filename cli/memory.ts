// What a hub keeps of the memory that it has used.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Gives back what loading or a busy time has left behind, 50 MB and more, in a tenth of a second. The young generation
 * becomes small as well, and grows again as load demands.
 */
export function releaseMemory(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void; // as V8's own extension has it
  // V8 forgets the shape of objects of which none is there. That of Node's ticks is made by a literal with computed names, which
  // V8 makes the slow way for ever once their shape is another one: a request has several. So there is one.
  process.nextTick(() => {});
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}

const LOOK_EVERY_MS = 60_000;
/** So many quiet looks in a row, and there will be more. */
const QUIET_LOOKS = 5;
/** Share of its time that a hub works which nobody asks much of. */
const QUIET = 0.02;

/**
 * Releases the memory when five minutes were quiet (less than a fiftieth of each), and again after those that follow a busy
 * one. V8 would do so after eight seconds, and throw away the compiled code of all requests along with the shapes of their objects, of
 * which none is there at such a moment: those that came next took twice as long, for a second or two. Returns what ends it.
 */
export function releaseWhenQuiet(lookEveryMs = LOOK_EVERY_MS): () => void {
  setFlagsFromString('--no-memory-reducer-favors-memory');
  let before = performance.eventLoopUtilization();
  let quietLooks = 0;
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    quietLooks = performance.eventLoopUtilization(now, before).utilization < QUIET ? quietLooks + 1 : 0;
    before = now;
    if (quietLooks === QUIET_LOOKS) releaseMemory();
  };
  const timer = setInterval(look, lookEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}
