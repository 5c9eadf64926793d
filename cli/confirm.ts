// A yes-or-no question on the terminal.
import { createInterface } from 'node:readline';
import type { Streams } from './context.ts';
import { interruptedError } from './failure.ts';

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
