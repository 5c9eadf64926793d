// What could stand at the cursor of a command line that is being typed.
import type { Argument, Command, Option } from 'commander';

/**
 * Candidates for the last of `words`: subcommands, options, and the values of options and arguments that have a fixed
 * choice. No candidates where anything may stand, a file name for example.
 *
 * @param words The words after `hubctl`; the last one is the one at the cursor and may be empty.
 */
export function complete(root: Command, words: readonly string[]): string[] {
  const typed = joinAssignments(words);
  const current = typed.pop() ?? '';
  const { command, operands, awaiting } = walk(root, typed);
  return candidates(root, command, operands, awaiting, current).filter((text) => text.startsWith(current));
}

function candidates(
  root: Command,
  command: Command,
  operands: number,
  awaiting: Option | undefined,
  current: string,
) {
  if (awaiting !== undefined) return awaiting.argChoices ?? [];
  const [flag, value] = current.split('=', 2);
  if (flag !== undefined && value !== undefined) {
    return (findOption(root, command, flag)?.argChoices ?? []).map((choice) => `${flag}=${choice}`);
  }
  if (current.startsWith('-')) {
    const help = command.createHelp();
    const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
    return options.map((option) => option.long ?? option.short ?? '');
  }
  const subcommands = command.createHelp().visibleCommands(command);
  return [...subcommands.map((each) => each.name()), ...(argumentAt(command, operands)?.argChoices ?? [])];
}

/** Follows the words before the cursor: the command they lead to, and what it has been given. */
function walk(root: Command, words: readonly string[]) {
  let command = root;
  let operands = 0;
  let awaiting: Option | undefined;
  for (const word of words) {
    if (awaiting !== undefined) {
      awaiting = undefined;
    } else if (word.startsWith('-')) {
      const option = findOption(root, command, word);
      if (option?.required) awaiting = option;
    } else {
      const subcommand = command.commands.find((each) => each.name() === word);
      if (subcommand === undefined) operands += 1;
      else command = subcommand;
    }
  }
  return { command, operands, awaiting };
}

function findOption(root: Command, command: Command, flag: string): Option | undefined {
  return [...command.options, ...root.options].find(
    (option) => option.long === flag || option.short === flag,
  );
}

function argumentAt(command: Command, index: number): Argument | undefined {
  const last = command.registeredArguments.at(-1);
  return command.registeredArguments[index] ?? (last?.variadic ? last : undefined);
}

/** Bash hands over `--output=json` as three words; the option and its value are what matters. */
function joinAssignments(words: readonly string[]): string[] {
  return words.flatMap((word, index) => {
    if (word !== '=' || !words[index - 1]?.startsWith('--')) return [word];
    return index === words.length - 1 ? [''] : [];
  });
}
