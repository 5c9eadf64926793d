// Finds and changes many items: several calls at the same time, on after a failure, and until a signal.
import { counted } from '../../lib/presentation/counted.ts';
import type { CommandContext } from '../command-context.ts';
import { describeError } from '../errors/describe-error.ts';
import { bar } from '../output/progress.ts';
import { NOTHING_CHANGED, untilInterrupted } from './interruption.ts';

const AT_ONCE = 4;

/** Reads all pages. @param noun `license` */
export async function findAll<T>(
  { progress, interruption }: Pick<CommandContext, 'progress' | 'interruption'>,
  pages: AsyncIterable<readonly T[]>,
  noun: string,
): Promise<T[]> {
  const found: T[] = [];
  const line = progress.show(() => `Found ${counted(found.length, noun)}`);
  interruption.hold(() => NOTHING_CHANGED);
  try {
    for await (const page of untilInterrupted(pages, interruption, () => NOTHING_CHANGED))
      found.push(...page);
  } finally {
    line.end();
    interruption.release();
  }
  return found;
}

export type FailedItem = { readonly id: string; readonly code: string; readonly message: string };

export type EachChange = {
  readonly ids: readonly string[];
  /** `license` */
  readonly noun: string;
  /** `renewed` */
  readonly done: string;
  /** Resolves with whether the item changed. */
  readonly change: (id: string) => Promise<boolean>;
};

/** @throws CliError (interrupted) that says how many were changed */
export async function changeEach(
  { progress, interruption, target }: Pick<CommandContext, 'progress' | 'interruption' | 'target'>,
  { ids, noun, done, change }: EachChange,
): Promise<{ changed: number; unchanged: number; failed: FailedItem[] }> {
  const failed: FailedItem[] = [];
  let changed = 0;
  let unchanged = 0;
  const sofar = () => `${changed} of ${counted(ids.length, noun)} ${changed === 1 ? 'was' : 'were'} ${done}.`;
  const finished = () => changed + unchanged + failed.length;
  const line = progress.show(() => bar('Changing', finished(), ids.length));
  interruption.hold(sofar);
  const left = ids.values();
  const worker = async (): Promise<void> => {
    for (const id of left) {
      if (interruption.signal.aborted) return;
      try {
        if (await change(id)) changed += 1;
        else unchanged += 1;
      } catch (error) {
        const about = { target: await target(), givenFor: () => undefined };
        const { code, message } = await describeError(error, about);
        failed.push({ id, code, message });
      }
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  } finally {
    line.end();
  }
  if (interruption.signal.aborted && finished() < ids.length) throw interruption.error(sofar());
  return { changed, unchanged, failed };
}
