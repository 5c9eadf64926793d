// Explains a command line that cannot be parsed, and names the help that shows the right form.
import type { Command, CommanderError } from 'commander';
import { didYouMean } from './did-you-mean.ts';

/**
 * Commander prefixes "error: ", puts its suggestion on a second line, and reports one missing option at a
 * time.
 *
 * @param program The program that parsed the line.
 * @param all A program with all commands, for suggestions.
 */
export function explainUsage(error: CommanderError, program: Command, all: Command): string {
  const command = commandOf(program, program.args);
  return `${said(error, command, all)
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replace(/(?<![.?])$/, '.')} See \`${pathOf(command)} --help\`.`;
}

function said({ code, message }: CommanderError, command: Command, all: Command): string {
  switch (code) {
    case 'commander.missingMandatoryOptionValue':
      return missing(command);
    case 'commander.help': {
      const verbs = command.commands.map((each) => each.name());
      return `${pathOf(command)} needs one more word: ${verbs.join(', ')}`;
    }
    case 'commander.unknownCommand':
      return unknownWord(message, command, all);
    case 'commander.invalidArgument':
      return amongChoices(message) ?? message;
    default:
      return message;
  }
}

/** Suggests the intended word: an option, a verb with its noun, or a similar spelling. */
function unknownWord(message: string, command: Command, all: Command): string {
  const [, typed = ''] = /'(.*)'/s.exec(message) ?? [];
  const option = all.options.find(({ long }) => long === `--${typed}`);
  const verbs = all.commands.flatMap((noun) => noun.commands.filter((verb) => verb.name() === typed));
  const paths = verbs.map((verb) => pathOf(verb).slice(all.name().length + 1));
  const exact = option?.long ? [option.long] : paths;
  const names = command.commands.map((each) => each.name());
  const isExact = exact.length > 0 && exact.length <= MAX_GUESSES;
  const guess = isExact ? ` Did you mean ${exact.join(' or ')}?` : didYouMean(typed, names);
  if (guess !== '') return `unknown command '${typed}' (${guess.trimStart()})`;
  const has = command.parent === null ? '' : `: ${pathOf(command)} has ${names.join(', ')}`;
  return `unknown command '${typed}'${has}`;
}

/** Most nouns have a `list`: a longer list of suggestions helps nobody. */
const MAX_GUESSES = 3;

function amongChoices(message: string): string | undefined {
  const [, option, typed = '', argument, choices = ''] =
    /(?:option '.*?(--[\w-]+).*?'|command-argument).*?(?:argument|value) '(.*?)' is invalid(?: for argument '(.*?)')?\. .*?Allowed choices are (.*)\./s.exec(
      message,
    ) ?? [];
  if (choices === '') return undefined;
  return `${option ?? argument}: ${typed || 'an empty text'} is not one of ${choices}.`;
}

function missing(command: Command): string {
  const wanted = command.options
    .filter((option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined)
    .map(({ flags }) => flags);
  return `${wanted.join(', ')}: ${wanted.length === 1 ? 'this option is required' : 'these options are required'}`;
}

/** The deepest command that the words name. */
function commandOf(command: Command, [word, ...words]: readonly string[]): Command {
  if (word === 'help') return commandOf(command, words);
  const inner = command.commands.find((each) => each.name() === word);
  return inner === undefined ? command : commandOf(inner, words);
}

/** `hubctl license revoke` */
export function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}
