// hubctl help: the help of a command.
import type { Command } from 'commander';
import { addCommand } from '../../command-help.ts';

export function registerHelp(program: Command): void {
  addCommand(program, 'help', {
    description: 'Prints the help of a command, like --help.',
    examples: ['hubctl help license revoke'],
    prints: { other: 'The help, as text.' },
  })
    .argument('[command...]', 'the words of the command')
    .action((words: readonly string[]) => {
      let found = program;
      for (const word of words) {
        const inner = found.commands.find((each) => each.name() === word);
        found = inner ?? found.error(`unknown command '${word}'`, { code: 'commander.unknownCommand' });
      }
      found.help();
    });
}
