// A yes-or-no question on the terminal.
import { CliError, EXIT, interruptedError, usageError } from './failure.ts';
import type { Streams, Tools } from './tools.ts';

export type Decision = {
  /** Whether the answer was given in advance, by `--yes`. */
  readonly yes: boolean | undefined;
  readonly question: () => string | Promise<string>;
  /** What would be done: `revoke` */
  readonly verb: string;
  /** What a no leads to: `Nothing was revoked.` */
  readonly otherwise: string;
};

/**
 * Asks before something that cannot be taken back.
 *
 * @throws CliError (usage) where nobody can be asked, (declined) on a no, (interrupted) on Ctrl-C.
 */
export async function requireYes(
  { streams, target }: Pick<Tools, 'streams' | 'target'>,
  { yes, question, verb, otherwise }: Decision,
): Promise<void> {
  if (yes) return;
  if (!canAsk(streams)) {
    throw usageError(`Nobody is there to be asked. Give --yes to ${verb} without a question.`);
  }
  const { context } = await target();
  const where = context === undefined ? '' : ` (context ${context})`;
  if (!(await confirm(`${await question()}${where}`, streams)))
    throw new CliError('declined', EXIT.failed, otherwise);
}

/** Whether somebody is there to be asked. */
export function canAsk({ stdin, stderr }: Streams): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/**
 * Asks on standard error; anything but `y` or `yes`, the end of input included, is a no.
 *
 * @throws CliError (interrupted) on Ctrl-C.
 */
export async function confirm(question: string, { stdin, stderr }: Streams): Promise<boolean> {
  const { createInterface } = await import('node:readline'); // most commands ask nothing
  const reader = createInterface({ input: stdin, output: stderr });
  try {
    return await new Promise<boolean>((resolve, reject) => {
      reader.once('SIGINT', () => reject(interruptedError('Interrupted; nothing was changed.')));
      reader.once('close', () => resolve(false));
      reader.question(`${question} [y/N] `, (answer) => resolve(/^y(es)?$/i.test(answer.trim())));
    });
  } finally {
    reader.close();
  }
}
