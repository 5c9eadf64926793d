// Retries calls while the hub is down, so that a watch continues when the hub is back.
import { setTimeout } from 'node:timers/promises';
import type { CommandContext } from '../command-context.ts';
import { describeError } from '../errors/describe-error.ts';
import { EXIT } from '../errors/failure.ts';

/** A restart or a failover of the database takes less. */
const GIVE_UP_AFTER_MS = 5 * 60_000;
/** The first pause; each next one is twice as long, up to the last one. */
const FIRST_PAUSE_MS = 1_000;
const LAST_PAUSE_MS = 8_000;
/** Codes of temporary failures. */
const PASSING = ['unavailable', 'overloaded', 'aborted', 'resource_exhausted'];

export type RetryWhileDown = <T>(call: (answered: () => void) => Promise<T>) => Promise<T>;

/**
 * Repeats a call while the hub is unreachable or busy. A long call reports by `answered` that the hub
 * responds.
 * @param onTrouble Called once when the hub goes away, and with undefined when it is back.
 * @param pause Waits this many milliseconds.
 * @returns A function that throws any other error, an error that lasts five minutes, and any error before the
 * first answer.
 */
export function retryWhileDown(
  commandContext: Pick<CommandContext, 'target'>,
  onTrouble: (message: string | undefined) => void,
  pause: (ms: number) => Promise<unknown> = setTimeout,
): RetryWhileDown {
  let works = false;
  let awaySince: number | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  const answered = (): void => {
    works = true;
    if (awaySince !== undefined) onTrouble(undefined);
    awaySince = undefined;
    pauseMs = FIRST_PAUSE_MS;
  };
  return async (call) => {
    for (;;) {
      try {
        const result = await call(answered);
        answered();
        return result;
      } catch (error) {
        const target = await commandContext.target().catch(() => undefined); // if this fails, `error` says why
        const { code, message, exitCode } = await describeError(error, { target, givenFor: () => undefined });
        const isPassing = exitCode === EXIT.unreachable || PASSING.includes(code);
        const isTooLong = awaySince !== undefined && performance.now() - awaySince > GIVE_UP_AFTER_MS;
        if (!works || !isPassing || isTooLong) throw error;
        if (awaySince === undefined) onTrouble(`${message.replace(/\.( .*|$)/s, '')}: trying again.`);
        awaySince ??= performance.now();
        await pause(pauseMs);
        pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS);
      }
    }
  };
}
