// The tree of commands.
import { Command, Help } from 'commander';
import { type CommandContext, createCommandContext } from './command-context.ts';
import { manualText } from './command-help.ts';
import { registerEndpoint } from './commands/events/endpoint.ts';
import { registerEvent } from './commands/events/event.ts';
import { registerApp } from './commands/licensing/app.ts';
import { registerCustomer } from './commands/licensing/customer.ts';
import { registerKey } from './commands/licensing/key.ts';
import { registerLicense } from './commands/licensing/license.ts';
import { registerProfile } from './commands/licensing/profile.ts';
import { registerSeat } from './commands/licensing/seat.ts';
import { registerAudit } from './commands/operations/audit.ts';
import { registerBackup } from './commands/operations/backup.ts';
import { registerConsole } from './commands/operations/console.ts';
import { registerDemo } from './commands/operations/demo.ts';
import { registerDoctor } from './commands/operations/doctor.ts';
import { registerMasterkey } from './commands/operations/masterkey.ts';
import { registerMigration } from './commands/operations/migration.ts';
import { registerRetention } from './commands/operations/retention.ts';
import { registerServe } from './commands/operations/serve.ts';
import { registerSimulate } from './commands/operations/simulate.ts';
import { registerToken } from './commands/operations/token.ts';
import { registerTop } from './commands/operations/top.ts';
import { registerMail } from './commands/orders/mail.ts';
import { registerOffer } from './commands/orders/offer.ts';
import { registerOrder } from './commands/orders/order.ts';
import { registerCallback } from './commands/payments/callback.ts';
import { registerFee } from './commands/payments/fee.ts';
import { registerGateway } from './commands/payments/gateway.ts';
import { registerRefund } from './commands/payments/refund.ts';
import { registerSession } from './commands/payments/session.ts';
import { registerSlot } from './commands/payments/slot.ts';
import { registerUsage } from './commands/payments/usage.ts';
import { registerCompletion } from './commands/setup/completion.ts';
import { registerContext } from './commands/setup/context.ts';
import { registerHelp } from './commands/setup/help.ts';
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

/** Commands register cheaply: they import heavy modules when they run. */
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
      outputError: () => {}, // the caller reports it, as text or JSON
    })
    .exitOverride()
    .addHelpText('afterAll', ({ command }) => (command.parent === null ? '' : GLOBAL_HELP));
  addGlobalOptions(program);
  const commandContext = createCommandContext(program, streams);
  registerServe(program, commandContext);
  registerDemo(program, commandContext);
  registerSimulate(program, commandContext);
  registerConsole(program, commandContext);
  registerDoctor(program, commandContext);
  registerTop(program, commandContext);
  registerApp(program, commandContext);
  registerProfile(program, commandContext);
  registerKey(program, commandContext);
  registerLicense(program, commandContext);
  registerSeat(program, commandContext);
  registerCustomer(program, commandContext);
  registerGateway(program, commandContext);
  registerSlot(program, commandContext);
  registerSession(program, commandContext);
  registerRefund(program, commandContext);
  registerCallback(program, commandContext);
  registerFee(program, commandContext);
  registerUsage(program, commandContext);
  registerOffer(program, commandContext);
  registerOrder(program, commandContext);
  registerMail(program, commandContext);
  registerEndpoint(program, commandContext);
  registerEvent(program, commandContext);
  registerAudit(program, commandContext);
  registerToken(program, commandContext);
  registerRetention(program, commandContext);
  registerMasterkey(program, commandContext);
  registerBackup(program, commandContext);
  registerMigration(program, commandContext);
  registerContext(program, commandContext);
  registerCompletion(program, commandContext);
  registerHelp(program);
  return { program, commandContext, printed: () => printed, complaint: () => complaint };
}

/** `hubctl seat list [options] <licenseId>`, with the required options in place. */
function usageOf(command: Command): string {
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  const usage = [command.name(), ...required, command.usage()].join(' ');
  return command.parent === null ? usage : `${pathOf(command.parent)} ${usage}`;
}
