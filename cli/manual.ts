// What the help and the manual say of a command besides its arguments and options.
import type { Command, Help } from 'commander';
import type { Schema, Shape } from './shapes.ts';

export type VerbManual = {
  readonly summary: string;
  readonly description: string;
  /** Paragraphs below the options; one that begins with `1. ` is an item of a list. */
  readonly notes?: readonly string[];
  /** Lines of a shell that run the command. */
  readonly examples: readonly [string, ...string[]];
  readonly prints: Prints;
};

/** What `--output json` prints: one document, documents line by line as they come, or something else. */
export type Prints = { readonly document: Shape } | { readonly lines: Shape } | { readonly other: string };

/** Under which heading the commands are listed. */
export type Group = 'Running a hub:' | 'Licenses:' | 'Payments:' | 'Administration:' | 'hubctl itself:';

const manuals = new WeakMap<Command, VerbManual>();

/** Undefined for a noun, which does nothing by itself. */
export function manualOf(command: Command): VerbManual | undefined {
  return manuals.get(command);
}

/** Adds a noun, whose verbs do something. */
export function addNoun(
  program: Command,
  name: string,
  { summary, description, group }: { summary: string; description: string; group: Group },
): Command {
  return program.command(name).summary(summary).description(description).helpGroup(group).helpCommand(false);
}

/** Adds a verb of a noun, or a command that is one word, which is listed under a group. */
export function addVerb(parent: Command, name: string, manual: VerbManual & { group?: Group }): Command {
  const command = parent.command(name).summary(manual.summary).description(manual.description);
  if (manual.group !== undefined) command.helpGroup(manual.group);
  manuals.set(command, manual);
  return command;
}

/** What the help of a command says below its options. */
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

/** The names of the members of the object that is printed, or of each that is. */
export function membersOf(prints: Prints): string[] {
  if ('other' in prints) return [];
  const named = (schema: Schema): string[] => [
    ...Object.keys(schema.properties ?? {}),
    ...(schema.items ? named(schema.items) : []),
    ...(schema.anyOf ?? []).flatMap(named),
  ];
  return [...new Set(named('lines' in prints ? prints.lines : prints.document))];
}

function wrapped(note: string, help: Help, width: number): string {
  const [, number, item] = /^(\d+\. )(.*)$/s.exec(note) ?? [];
  if (number === undefined || item === undefined) return help.boxWrap(note, width);
  return `  ${number}${help.boxWrap(item, width - 5).replaceAll('\n', '\n     ')}`;
}

function indented(lines: string): string {
  return lines.replace(/^/gm, '  ');
}
