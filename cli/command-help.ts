// The help text of a command besides its arguments and options.
import type { Command, Help } from 'commander';
import type { CommandContext } from './command-context.ts';
import { COMMAND_LIST, type CommandName } from './command-list.ts';
import { list, type Schema, type TypedSchema } from './views/schema.ts';

export type VerbManual = {
  readonly summary: string;
  readonly description: string;
  /** Paragraphs below the options. A paragraph that begins with `1. ` is a list item. */
  readonly notes?: readonly string[];
  readonly examples: readonly [string, ...string[]];
  readonly prints: Prints;
};

/** The output of `--output json`: one document, a list of these objects, one document per line, or another format. */
export type Prints =
  | { readonly document: TypedSchema }
  | { readonly list: TypedSchema }
  | { readonly lines: TypedSchema }
  | { readonly other: string };

/**
 * Adds a command to the program, or a verb to its noun. Commands register cheaply: they import heavy modules when they
 * run.
 */
export type Register = (parent: Command, commandContext: CommandContext) => void;

const manuals = new WeakMap<Command, VerbManual>();

/** Undefined for a noun, which is no command by itself. */
export function manualOf(command: Command): VerbManual | undefined {
  return manuals.get(command);
}

/** Adds a noun, which groups verbs. */
export function addNoun(program: Command, name: CommandName, description: string): Command {
  const { group, summary } = COMMAND_LIST[name];
  return program.command(name).summary(summary).description(description).helpGroup(group).helpCommand(false);
}

export function nounOf(name: CommandName, description: string, verbs: readonly Register[]): Register {
  return (program, commandContext) => {
    const noun = addNoun(program, name, description);
    for (const addTo of verbs) addTo(noun, commandContext);
  };
}

/** Adds a command of one word. */
export function addCommand(
  program: Command,
  name: CommandName,
  manual: Omit<VerbManual, 'summary'>,
): Command {
  const { group, summary } = COMMAND_LIST[name];
  return addVerb(program, name, { ...manual, summary }).helpGroup(group);
}

export function addVerb(noun: Command, name: string, manual: VerbManual): Command {
  const command = noun.command(name).summary(manual.summary).description(manual.description);
  manuals.set(command, manual);
  return command;
}

/** The help below the options. */
export function manualText(command: Command, help: Help): string {
  const manual = manuals.get(command);
  if (manual === undefined) return '';
  const width = help.helpWidth ?? 80;
  const { notes = [], examples, prints } = manual;
  const members = membersOf(prints);
  return [
    ...notes.map((note) => wrapped(note, help, width)),
    ...(members.length > 0
      ? [`JSON members:\n${indented(help.boxWrap(members.join(', '), width - 2))}`]
      : []),
    `${examples.length === 1 ? 'Example' : 'Examples'}:\n${indented(examples.join('\n'))}`,
  ]
    .map((paragraph) => `\n${paragraph}\n`)
    .join('');
}

/** The schema of the document, or of each line. */
export function schemaOf(prints: Exclude<Prints, { readonly other: string }>): TypedSchema {
  if ('list' in prints) return list(prints.list);
  return 'lines' in prints ? prints.lines : prints.document;
}

/** The member names of the printed object, or of each printed object. */
function membersOf(prints: Prints): string[] {
  if ('other' in prints) return [];
  const named = (schema: Schema): string[] => [
    ...Object.keys(schema.properties ?? {}),
    ...(schema.items ? named(schema.items) : []),
    ...(schema.anyOf ?? []).flatMap(named),
  ];
  return [...new Set(named(schemaOf(prints)))];
}

function wrapped(note: string, help: Help, width: number): string {
  const [, number, item] = /^(\d+\. )(.*)$/s.exec(note) ?? [];
  if (number === undefined || item === undefined) return help.boxWrap(note, width);
  return `  ${number}${help.boxWrap(item, width - 5).replaceAll('\n', '\n     ')}`;
}

function indented(lines: string): string {
  return lines.replace(/^/gm, '  ');
}
