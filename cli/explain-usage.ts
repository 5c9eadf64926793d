// What is wrong with a line that could not be parsed, all at once, and where it is told how to write it.
import type { Command, CommanderError } from 'commander';
import { didYouMean } from './similar.ts';

/** Commander says "error: …", puts its suggestion on a second line, and complains of one missing option at a time. */
export function explainUsage(error: CommanderError, program: Command): string {
  const command = commandOf(program, program.args);
  return `${said(error, command, program)
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/(?<![.?])$/, '.')} See \`${pathOf(command)} --help\`.`;
}

function said({ code, message }: CommanderError, command: Command, program: Command): string {
  switch (code) {
    case 'commander.missingMandatoryOptionValue':
      return missing(command);
    case 'commander.help': {
      const verbs = command.commands.map((each) => each.name());
      return `${pathOf(command)} needs one more word: ${verbs.join(', ')}`;
    }
    case 'commander.unknownCommand':
      return elsewhere(message, program) ?? message;
    case 'commander.invalidArgument':
      return `${message}${amongChoices(message)}`;
    default:
      return message;
  }
}

/** Where a verb that was typed without its noun, or with another, is to be found. */
function elsewhere(message: string, program: Command): string | undefined {
  const [, typed] = /'(.*)'/s.exec(message) ?? [];
  const found = program.commands.flatMap((noun) => noun.commands.filter((verb) => verb.name() === typed));
  if (found.length === 0) return undefined;
  const paths = found.map((verb) => pathOf(verb).slice(program.name().length + 1));
  return `unknown command '${typed}' (Did you mean ${paths.join(' or ')}?)`;
}

/** Which of the allowed words was meant. */
function amongChoices(message: string): string {
  const [, typed = '', choices = ''] =
    /(?:argument|value) '([^']*)' is invalid.*Allowed choices are (.*)\./s.exec(message) ?? [];
  return didYouMean(typed, choices.split(', '));
}

function missing(command: Command): string {
  const wanted = command.options
    .filter((option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined)
    .map(({ flags }) => flags);
  return `${wanted.join(', ')}: ${wanted.length === 1 ? 'this option is required' : 'these options are required'}`;
}

/** The command that the words name, as deep as they do. */
function commandOf(command: Command, [word, ...words]: readonly string[]): Command {
  if (word === 'help') return commandOf(command, words);
  const inner = command.commands.find((each) => each.name() === word);
  return inner === undefined ? command : commandOf(inner, words);
}

/** `hubctl license revoke` */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
