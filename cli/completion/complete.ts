// Completes a command line: the candidates at the cursor.
import type { Argument, Command, Option } from 'commander';
import { pathOf } from '../errors/explain-usage.ts';
import type { KnownName, TypedLine } from '../errors/known-names.ts';
import { kindOf } from '../parse/field-names.ts';
import { SETTINGS } from '../serve/setting-table.ts';

export type Candidates = {
  readonly names: readonly KnownName[];
  /** Whether the shell also offers file names. */
  readonly files: boolean;
};

/** Looks up existing names and ids of a kind. */
export type LookUp = (kind: string, line: TypedLine) => Promise<readonly KnownName[]>;

const NONE: Candidates = { names: [], files: false };

/**
 * The candidates for the last of `words`: subcommands, options, fixed choices, and names that the hub knows.
 * @param words The words after `hubctl`. The last one is at the cursor and may be empty.
 */
export async function complete(root: Command, words: readonly string[], lookUp: LookUp): Promise<Candidates> {
  const typed = joinAssignments(words);
  const current = typed.pop() ?? '';
  const place = walk(root, typed);
  const [flag = '', value] = current.startsWith('--') ? current.split('=', 2) : [];
  if (value !== undefined) {
    const { names, files } = await valuesOf(findOption(root, place.command, flag), place, lookUp);
    return beginning(current, {
      names: names.map((name) => ({ ...name, value: `${flag}=${name.value}` })),
      files,
    });
  }
  return beginning(current, await candidates(root, place, current, lookUp));
}

/** The global options on the line: they select the hub that looks up names. */
export function globalValues(root: Command, words: readonly string[]): [name: string, value: string][] {
  const { values } = walk(root, joinAssignments(words).slice(0, -1));
  return [...values]
    .filter(([option]) => root.options.includes(option))
    .map(([option, value]) => [option.attributeName(), value]);
}

type Place = {
  readonly command: Command;
  readonly operands: readonly string[];
  /** The option whose value is at the cursor. */
  readonly awaiting: Option | undefined;
  readonly values: ReadonlyMap<Option, string>;
};

async function candidates(root: Command, place: Place, current: string, lookUp: LookUp): Promise<Candidates> {
  const { command, operands, awaiting } = place;
  if (awaiting !== undefined) return valuesOf(awaiting, place, lookUp);
  if (current.startsWith('-')) {
    const help = command.createHelp();
    const options = [help.visibleOptions(command), ...(command === root ? [] : [root.options])].flat();
    const names = options.map(({ long, short, description }) => ({
      value: long ?? short ?? '',
      about: description,
    }));
    return { names, files: false };
  }
  const subcommands = command.createHelp().visibleCommands(command);
  if (subcommands.length > 0) {
    return {
      names: subcommands.map((each) => ({ value: each.name(), about: each.summary() })),
      files: false,
    };
  }
  if (command.name() === 'help') return candidates(root, walk(root, operands), current, lookUp);
  return valuesOf(argumentAt(command, operands.length), place, lookUp);
}

async function valuesOf(
  target: Option | Argument | undefined,
  { command, operands, values }: Place,
  lookUp: LookUp,
): Promise<Candidates> {
  if (target === undefined) return NONE;
  const words = wordsOf(target);
  if (words !== undefined) return { names: words.map((value) => ({ value, about: '' })), files: false };
  const kind = kindOf(target);
  if (kind === 'file' || kind === 'dir') return { names: [], files: true };
  const given = Object.fromEntries([
    ...operands.map((operand, index) => [argumentAt(command, index)?.name() ?? '', operand]),
    ...[...values].map(([option, value]) => [kindOf(option), value]),
  ]);
  const path = pathOf(command).split(' ').slice(1).join(' ');
  return { names: await lookUp(kind, { command: path, given }), files: false };
}

/** The only possible words, if the choice is fixed. */
function wordsOf(target: Option | Argument): readonly string[] | undefined {
  if (target.argChoices !== undefined || !('long' in target)) return target.argChoices;
  return SETTINGS.find(({ flag }) => target.long === `--${flag}`)?.words;
}

/** Follows the words before the cursor to their command, and collects its options and arguments. */
function walk(root: Command, words: readonly string[]): Place {
  let command = root;
  const operands: string[] = [];
  const values = new Map<Option, string>();
  let awaiting: Option | undefined;
  for (const word of words) {
    const [flag = '', value] = word.split('=', 2);
    if (awaiting !== undefined) {
      values.set(awaiting, word);
      awaiting = undefined;
    } else if (word.startsWith('-')) {
      const option = findOption(root, command, flag);
      if (option?.required && value !== undefined) values.set(option, value);
      else if (option?.required) awaiting = option;
    } else {
      const subcommand = command.commands.find((each) => each.name() === word);
      if (subcommand === undefined) operands.push(word);
      else command = subcommand;
    }
  }
  return { command, operands, awaiting, values };
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

function beginning(current: string, { names, files }: Candidates): Candidates {
  return { names: names.filter(({ value }) => value.startsWith(current)), files };
}

/** Bash passes `--output=json` as three words: keep the option and its value. */
function joinAssignments(words: readonly string[]): string[] {
  return words.flatMap((word, index) => {
    if (word !== '=' || !words[index - 1]?.startsWith('--')) return [word];
    return index === words.length - 1 ? [''] : [];
  });
}
