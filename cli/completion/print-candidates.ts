// Prints the candidates of a completion, one per line, with a description after a tab.

import { loadCommands } from '../load-commands.ts';
import { printable } from '../output/printable.ts';
import { createProgram } from '../program.ts';
import type { Streams } from '../streams.ts';
import { complete, globalValues } from './complete.ts';
import { FILES } from './scripts.ts';

/** Never fails and prints no error: the user is typing. */
export async function printCandidates(words: readonly string[], streams: Streams): Promise<void> {
  // The last word is incomplete: another command may begin with it.
  const commands = await loadCommands(words.slice(0, -1));
  const { program, commandContext } = createProgram(streams, commands);
  for (const option of program.options) {
    const value = option.envVar === undefined ? undefined : process.env[option.envVar];
    if (value !== undefined) program.setOptionValueWithSource(option.attributeName(), value, 'env');
  }
  for (const [name, value] of globalValues(program, words))
    program.setOptionValueWithSource(name, value, 'cli');
  const { names, files } = await complete(program, words, async (kind, line) => {
    const { knownNames } = await import('../errors/known-names.ts');
    return knownNames(kind, commandContext, line);
  });
  const lines = names.map(({ value, about }) => (about === '' ? value : `${value}\t${printable(about)}`));
  streams.stdout.write([...lines, ...(files ? [FILES] : [])].map((line) => `${line}\n`).join(''));
}
