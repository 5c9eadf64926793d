// Reads what docs/hubctl.md says about each command from the command tree.
import type { Command, Help, Option } from 'commander';
import { manualOf, type Prints } from '../../cli/command-help.ts';
import { pathOf } from '../../cli/errors/explain-usage.ts';

export type Term = { readonly term: string; readonly text: string };

export type CommandPage = {
  /** `hubctl license revoke` */
  readonly path: string;
  readonly usage: string;
  readonly summary: string;
  readonly description: string;
  readonly arguments: readonly Term[];
  readonly options: readonly Term[];
  readonly notes: readonly string[];
  readonly examples: readonly string[];
  readonly prints: Prints;
};

/** A noun with its verbs, or a command of one word. */
export type NounPage = {
  readonly name: string;
  readonly group: string;
  readonly summary: string;
  readonly description: string;
  readonly commands: readonly CommandPage[];
};

export function nounPages(program: Command): NounPage[] {
  return program.commands.map((noun) => ({
    name: noun.name(),
    group: (noun.helpGroup() ?? '').replace(/:$/, ''),
    summary: noun.summary(),
    description: noun.description(),
    commands: (noun.commands.length === 0 ? [noun] : noun.commands).map(commandPage),
  }));
}

export function globalOptions(program: Command): Term[] {
  const help = program.createHelp();
  return help.visibleOptions(program).map((option) => termOf(option, help));
}

function commandPage(command: Command): CommandPage {
  const manual = manualOf(command);
  if (manual === undefined) throw new Error(`${pathOf(command)} has no manual`);
  const help = command.createHelp();
  return {
    path: pathOf(command),
    usage: help.commandUsage(command),
    summary: manual.summary,
    description: manual.description,
    arguments: command.registeredArguments.map((argument) => ({
      term: help.argumentTerm(argument),
      text: help.argumentDescription(argument),
    })),
    options: command.options.map((option) => termOf(option, help)),
    notes: manual.notes ?? [],
    examples: manual.examples,
    prints: manual.prints,
  };
}

function termOf(option: Option, help: Help): Term {
  return { term: help.optionTerm(option), text: help.optionDescription(option) };
}
