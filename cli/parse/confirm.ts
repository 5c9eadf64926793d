// Asks a yes-or-no question on the terminal.

import type { Target } from '../connect/choose-hub.ts';
import { CliError, EXIT, interruptedError, usageError } from '../errors/failure.ts';
import type { Streams } from '../streams.ts';

export type Decision = {
  /** Whether `--yes` confirms in advance. */
  readonly yes: boolean | undefined;
  readonly question: () => string | Promise<string>;
  /** The action to confirm: `revoke` */
  readonly verb: string;
  /** Message when the answer is no: `Nothing was revoked.` */
  readonly otherwise: string;
};

/**
 * Asks for confirmation of an irreversible action.
 * @throws CliError (usage) without a terminal, (declined) on a no, (interrupted) on Ctrl-C.
 */
export async function requireYes(
  { streams, target }: { readonly streams: Streams; target(): Promise<Pick<Target, 'context'>> },
  { yes, question, verb, otherwise }: Decision,
): Promise<void> {
  if (yes) return;
  if (!canPrompt(streams)) {
    throw usageError(`There is no terminal for the confirmation. Give --yes to ${verb} without it.`);
  }
  const { context } = await target();
  const where = context === undefined ? '' : ` (context ${context})`;
  if (!(await confirm(`${await question()}${where}`, streams)))
    throw new CliError('declined', EXIT.failed, otherwise);
}

/** Whether there is a terminal for questions. */
export function canPrompt({ stdin, stderr }: Streams): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/**
 * Asks on standard error. Any answer but `y` or `yes`, including the end of input, is a no.
 * @throws CliError (interrupted) on Ctrl-C.
 */
export async function confirm(question: string, { stdin, stderr }: Streams): Promise<boolean> {
  const { createInterface } = await import('node:readline'); // loaded on use: most commands ask no question
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
