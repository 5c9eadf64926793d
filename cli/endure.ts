// Puts up with a hub that is away for a while: what is watched goes on when it is back.
import { setTimeout } from 'node:timers/promises';
import { describeError } from './describe-error.ts';
import { EXIT } from './failure.ts';
import type { Tools } from './tools.ts';

/** A hub that is restarted, or whose database fails over, is back by then. */
const PATIENCE_MS = 5 * 60_000;
const PAUSE_MS = 1_000;
/** What a hub answers that will do better in a moment. */
const PASSING = ['unavailable', 'overloaded', 'aborted', 'resource_exhausted'];

export type Enduring = <T>(call: (answered: () => void) => Promise<T>) => Promise<T>;

/**
 * Calls what it is given, and again while the hub is not reached or is busy. A call that goes on for long tells by
 * `answered` that the hub does answer.
 *
 * @param onTrouble Told once when the hub is away, and with undefined when it is back.
 * @returns A function that throws what is no such trouble, what goes on for five minutes, and any trouble before the
 *   hub has answered at all.
 */
export function endure(tools: Tools, onTrouble: (message: string | undefined) => void): Enduring {
  let works = false;
  let awaySince: number | undefined;
  const answered = (): void => {
    works = true;
    if (awaySince !== undefined) onTrouble(undefined);
    awaySince = undefined;
  };
  return async (call) => {
    for (;;) {
      try {
        const result = await call(answered);
        answered();
        return result;
      } catch (error) {
        const target = await tools.target().catch(() => undefined); // if that is what failed, `error` says so
        const { code, message, exitCode } = await describeError(error, { target, givenFor: () => undefined });
        const isPassing = exitCode === EXIT.unreachable || PASSING.includes(code);
        const isTooLong = awaySince !== undefined && performance.now() - awaySince > PATIENCE_MS;
        if (!works || !isPassing || isTooLong) throw error;
        if (awaySince === undefined) onTrouble(`${message.replace(/\.( .*|$)/s, '')}: trying again.`);
        awaySince ??= performance.now();
        await setTimeout(PAUSE_MS);
      }
    }
  };
}
