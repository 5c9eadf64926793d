// The commands, and the modules that register them.
import type { Command } from 'commander';
import type { Register } from './command-help.ts';
import { COMMAND_LIST, type CommandName } from './command-list.ts';

const COMMANDS: Readonly<Record<CommandName, () => Promise<Register>>> = {
  serve: async () => (await import('./commands/operations/serve.ts')).registerServe,
  demo: async () => (await import('./commands/operations/demo.ts')).registerDemo,
  simulate: async () => (await import('./commands/operations/simulate.ts')).registerSimulate,
  console: async () => (await import('./commands/operations/console.ts')).registerConsole,
  doctor: async () => (await import('./commands/operations/doctor.ts')).registerDoctor,
  top: async () => (await import('./commands/operations/top.ts')).registerTop,
  app: async () => (await import('./commands/licensing/app.ts')).registerApp,
  profile: async () => (await import('./commands/licensing/profile.ts')).registerProfile,
  key: async () => (await import('./commands/licensing/key.ts')).registerKey,
  license: async () => (await import('./commands/licensing/license.ts')).registerLicense,
  seat: async () => (await import('./commands/licensing/seat.ts')).registerSeat,
  customer: async () => (await import('./commands/licensing/customer.ts')).registerCustomer,
  gateway: async () => (await import('./commands/payments/gateway.ts')).registerGateway,
  slot: async () => (await import('./commands/payments/slot.ts')).registerSlot,
  session: async () => (await import('./commands/payments/session.ts')).registerSession,
  refund: async () => (await import('./commands/payments/refund.ts')).registerRefund,
  callback: async () => (await import('./commands/payments/callback.ts')).registerCallback,
  fee: async () => (await import('./commands/payments/fee.ts')).registerFee,
  usage: async () => (await import('./commands/payments/usage.ts')).registerUsage,
  offer: async () => (await import('./commands/orders/offer.ts')).registerOffer,
  order: async () => (await import('./commands/orders/order.ts')).registerOrder,
  mail: async () => (await import('./commands/orders/mail.ts')).registerMail,
  endpoint: async () => (await import('./commands/events/endpoint.ts')).registerEndpoint,
  event: async () => (await import('./commands/events/event.ts')).registerEvent,
  audit: async () => (await import('./commands/operations/audit.ts')).registerAudit,
  token: async () => (await import('./commands/operations/token.ts')).registerToken,
  retention: async () => (await import('./commands/operations/retention.ts')).registerRetention,
  masterkey: async () => (await import('./commands/operations/masterkey.ts')).registerMasterkey,
  backup: async () => (await import('./commands/operations/backup.ts')).registerBackup,
  migration: async () => (await import('./commands/operations/migration.ts')).registerMigration,
  context: async () => (await import('./commands/setup/context.ts')).registerContext,
  completion: async () => (await import('./commands/setup/completion.ts')).registerCompletion,
  help: async () => (await import('./commands/setup/help.ts')).registerHelp,
};

/** The commands whose output depends on the other commands. */
const NEEDS_ALL = ['help'];

/** The words with which hubctl prints a text that needs no command. */
const OVERVIEW = ['', '-h', '--help', '-V', '--version'];

/**
 * Loads the command that a line begins with, and only the names of all commands for the general help. Loads all commands
 * if the line begins otherwise: the message about an unknown command suggests one.
 *
 * @param words The words after `hubctl`.
 */
export async function loadCommands(words?: readonly string[]): Promise<readonly Register[]> {
  const [first = '', ...more] = words ?? ['help'];
  if (more.length === 0 && OVERVIEW.includes(first)) return [registerNames];
  const load = isCommand(first) && !NEEDS_ALL.includes(first) ? COMMANDS[first] : undefined;
  return Promise.all((load === undefined ? Object.values(COMMANDS) : [load]).map((each) => each()));
}

function isCommand(word: string): word is CommandName {
  return Object.hasOwn(COMMANDS, word);
}

/** Registers the commands as the general help shows them. */
function registerNames(program: Command): void {
  for (const [name, { group, summary }] of Object.entries(COMMAND_LIST)) {
    program.command(name).summary(summary).helpGroup(group);
  }
}
