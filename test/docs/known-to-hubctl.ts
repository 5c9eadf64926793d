// What of a command line hubctl does not know.
import type { Command } from 'commander';
import { loadCommands } from '../../cli/load-commands.ts';
import { createProgram } from '../../cli/program.ts';

const { program } = createProgram(process, await loadCommands());

/** In a sentence each; `words` come after `hubctl`. */
export function unknownToHubctl(words: readonly string[]): string[] {
  const [first = '', second = ''] = words;
  const noun = commandOf(program, first);
  if (noun === undefined) return [`hubctl has no ${first}`];
  const verb = noun.commands.length === 0 ? noun : commandOf(noun, second);
  if (verb === undefined) return [`hubctl ${first} has no ${second}`];
  const known = [...verb.options, ...program.options].map(({ long }) => long);
  const options = words.filter((word) => word.startsWith('--') && word !== '--help');
  return options
    .filter((option) => !known.includes(option))
    .map((option) => `hubctl ${verb.name()} has no ${option}`);
}

function commandOf(parent: Command, name: string): Command | undefined {
  return parent.commands.find((command) => command.name() === name);
}
