// Prints what could stand at the cursor of a line that is being typed: a candidate a line, with what it is after a tab.
import { complete, globalValues } from './complete.ts';
import { FILES } from './completion-scripts.ts';
import { printable } from './printable.ts';
import { createProgram } from './program.ts';
import type { Streams } from './tools.ts';

/** Never fails, and says nothing of what goes wrong: somebody is typing. */
export async function printCandidates(words: readonly string[], streams: Streams): Promise<void> {
  const { program, tools } = createProgram(streams);
  for (const option of program.options) {
    const value = option.envVar === undefined ? undefined : process.env[option.envVar];
    if (value !== undefined) program.setOptionValueWithSource(option.attributeName(), value, 'env');
  }
  for (const [name, value] of globalValues(program, words))
    program.setOptionValueWithSource(name, value, 'cli');
  const { names, files } = await complete(program, words, async (kind, line) => {
    const { knownNames } = await import('./known-names.ts');
    return knownNames(kind, tools, line);
  });
  const lines = names.map(({ value, about }) => (about === '' ? value : `${value}\t${printable(about)}`));
  streams.stdout.write([...lines, ...(files ? [FILES] : [])].map((line) => `${line}\n`).join(''));
}
