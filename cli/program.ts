// The tree of commands.
import { Command, Help } from 'commander';
import { type CommandContext, createCommandContext } from './command-context.ts';
import { manualText, type Register } from './command-help.ts';
import { COMMAND_LIST } from './command-list.ts';
import { pathOf } from './errors/explain-usage.ts';
import { DESCRIPTION, overviewText } from './overview.ts';
import { addGlobalOptions } from './parse/global-options.ts';
import type { Streams } from './streams.ts';
import { packageVersion } from './version.ts';

const GLOBAL_HELP = '\nOptions of all commands (--context, --output json, --debug, …): hubctl --help';

export type Program = {
  readonly program: Command;
  readonly commandContext: CommandContext;
  /** The text of --help or --version. */
  readonly printed: () => string;
  /** The help for an incomplete command, for standard error. */
  readonly complaint: () => string;
};

export function createProgram(streams: Streams, commands: readonly Register[]): Program {
  let printed = '';
  let complaint = '';
  const program = new Command('hubctl')
    .description(DESCRIPTION)
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .configureHelp({
      commandUsage: usageOf,
      subcommandTerm: termOf,
      optionDescription: (option) =>
        `${option.mandatory ? 'required: ' : ''}${Help.prototype.optionDescription(option)}`,
      formatHelp: (command, help) =>
        Help.prototype.formatHelp.call(help, command, help) +
        (command.parent === null ? overviewText(help) : manualText(command, help)),
    })
    .configureOutput({
      writeOut: (text) => {
        printed += text;
      },
      writeErr: (text) => {
        complaint += text;
      },
      outputError: () => {}, // the caller reports it, as text or JSON
    })
    .exitOverride()
    .addHelpText('afterAll', ({ command }) => (command.parent === null ? '' : GLOBAL_HELP));
  addGlobalOptions(program);
  const commandContext = createCommandContext(program, streams);
  for (const register of commands) register(program, commandContext);
  return { program, commandContext, printed: () => printed, complaint: () => complaint };
}

/** `hubctl seat list [options] <licenseId>`, with the required options in place. */
function usageOf(command: Command): string {
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  const usage = [command.name(), ...required, command.usage()].join(' ');
  return command.parent === null ? usage : `${pathOf(command.parent)} ${usage}`;
}

/** The command in a list of commands: `serve [options]`. Those of the general help may not be loaded. */
function termOf(command: Command): string {
  const listed: Readonly<Record<string, { readonly usage: string }>> = COMMAND_LIST;
  const usage = command.parent?.parent === null ? listed[command.name()]?.usage : undefined;
  return usage === undefined
    ? Help.prototype.subcommandTerm.call(new Help(), command)
    : `${command.name()}${usage}`;
}
