// The tree of commands.
import { Command, Help } from 'commander';
import { registerApp } from './commands/app.ts';
import { registerAudit } from './commands/audit.ts';
import { registerBackup } from './commands/backup.ts';
import { registerCallback } from './commands/callback.ts';
import { registerCompletion } from './commands/completion.ts';
import { registerConsole } from './commands/console.ts';
import { registerContext } from './commands/context.ts';
import { registerDemo } from './commands/demo.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerFee } from './commands/fee.ts';
import { registerGateway } from './commands/gateway.ts';
import { registerHelp } from './commands/help.ts';
import { registerKey } from './commands/key.ts';
import { registerLicense } from './commands/license.ts';
import { registerMasterkey } from './commands/masterkey.ts';
import { registerMigration } from './commands/migration.ts';
import { registerProfile } from './commands/profile.ts';
import { registerRetention } from './commands/retention.ts';
import { registerSeat } from './commands/seat.ts';
import { registerServe } from './commands/serve.ts';
import { registerSession } from './commands/session.ts';
import { registerSimulate } from './commands/simulate.ts';
import { registerSlot } from './commands/slot.ts';
import { registerToken } from './commands/token.ts';
import { registerTop } from './commands/top.ts';
import { registerUsage } from './commands/usage.ts';
import { pathOf } from './explain-usage.ts';
import { addGlobalOptions } from './global-options.ts';
import { manualText } from './manual.ts';
import { DESCRIPTION, overviewText } from './overview.ts';
import { createTools, type Streams, type Tools } from './tools.ts';
import { packageVersion } from './version.ts';

const GLOBAL_HELP = '\nOptions of all commands (--context, --output json, --debug, …): hubctl --help';

export type Program = {
  readonly program: Command;
  readonly tools: Tools;
  /** Help and version that were asked for. */
  readonly printed: () => string;
  /** Help that was printed because a command was not complete; it goes to standard error. */
  readonly complaint: () => string;
};

/** Commands are light to register: whatever is heavy, they import when they run. */
export function createProgram(streams: Streams): Program {
  let printed = '';
  let complaint = '';
  const program = new Command('hubctl')
    .description(DESCRIPTION)
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand(false)
    .configureHelp({
      commandUsage: usageOf,
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
      outputError: () => {}, // whoever parses reports it, as text or JSON
    })
    .exitOverride()
    .addHelpText('afterAll', ({ command }) => (command.parent === null ? '' : GLOBAL_HELP));
  addGlobalOptions(program);
  const tools = createTools(program, streams);
  registerServe(program, tools);
  registerDemo(program, tools);
  registerSimulate(program, tools);
  registerConsole(program, tools);
  registerDoctor(program, tools);
  registerTop(program, tools);
  registerApp(program, tools);
  registerProfile(program, tools);
  registerKey(program, tools);
  registerLicense(program, tools);
  registerSeat(program, tools);
  registerGateway(program, tools);
  registerSlot(program, tools);
  registerSession(program, tools);
  registerCallback(program, tools);
  registerFee(program, tools);
  registerUsage(program, tools);
  registerAudit(program, tools);
  registerToken(program, tools);
  registerRetention(program, tools);
  registerMasterkey(program, tools);
  registerBackup(program, tools);
  registerMigration(program, tools);
  registerContext(program, tools);
  registerCompletion(program, tools);
  registerHelp(program);
  return { program, tools, printed: () => printed, complaint: () => complaint };
}

/** `hubctl seat list [options] <licenseId>`, with the options that are required in their place. */
function usageOf(command: Command): string {
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  const usage = [command.name(), ...required, command.usage()].join(' ');
  return command.parent === null ? usage : `${pathOf(command.parent)} ${usage}`;
}
