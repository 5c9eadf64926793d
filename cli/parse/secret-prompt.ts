// Prompts for secrets on the terminal without echo.
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { interruptedError, usageError } from '../errors/failure.ts';
import type { Streams } from '../streams.ts';

/**
 * Prompts for each name on standard error.
 * @throws CliError (interrupted) on Ctrl-C, (usage) if the input ends early.
 */
export async function promptSecrets(
  names: readonly string[],
  { stdin, stderr }: Streams,
): Promise<Record<string, string>> {
  // A terminal reader switches off the terminal's own echo; the reader's echo is discarded.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: nowhere, terminal: true });
  try {
    return await new Promise((resolve, reject) => {
      const answers: [string, string][] = [];
      const ask = (): void => {
        const name = names[answers.length];
        if (name === undefined) resolve(Object.fromEntries(answers));
        else stderr.write(`${name}: `);
      };
      reader.on('line', (answer) => {
        stderr.write('\n');
        const name = names[answers.length];
        if (name !== undefined) answers.push([name, answer]);
        ask();
      });
      reader.once('SIGINT', () => {
        stderr.write('\n');
        reject(interruptedError('Interrupted; nothing was changed.'));
      });
      reader.once('close', () => reject(usageError('The input ended before all credentials were typed.')));
      ask();
    });
  } finally {
    reader.close();
  }
}
