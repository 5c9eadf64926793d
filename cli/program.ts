// The tree of commands.
import { Command } from 'commander';
import { registerApp } from './commands/app.ts';
import { registerCallback } from './commands/callback.ts';
import { registerCompletion } from './commands/completion.ts';
import { registerDemo } from './commands/demo.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerFee } from './commands/fee.ts';
import { registerKey } from './commands/key.ts';
import { registerLicense } from './commands/license.ts';
import { registerLimits } from './commands/limits.ts';
import { registerMasterkey } from './commands/masterkey.ts';
import { registerMigrate } from './commands/migrate.ts';
import { registerSeat } from './commands/seat.ts';
import { registerSeed } from './commands/seed.ts';
import { registerServe } from './commands/serve.ts';
import { registerSession } from './commands/session.ts';
import { registerSimulate } from './commands/simulate.ts';
import { registerSlot } from './commands/slot.ts';
import { registerUsage } from './commands/usage.ts';
import { type Context, createContext, type Streams } from './context.ts';
import { addGlobalOptions } from './global-options.ts';
import { packageVersion } from './version.ts';

const HELP = `
The hub is found by --server, else HUBCTL_SERVER, else the data directory of a
local hub. The token comes from --token, else HUBCTL_TOKEN, else that directory,
whose token is sent to its own hub only.

Exit codes:
  0    done
  1    the hub refused or failed
  2    wrong usage, nothing was done
  3    no hub was reached
  4    not allowed
  130  interrupted

Example:
  hubctl key issue --app photo-lab --seats 3 --output json`;

/** Commands are light to register: whatever is heavy, they import when they run. */
export function createProgram(streams: Streams): { program: Command; context: Context } {
  const program = new Command('hubctl')
    .description('Runs and administers a hub: licenses and their seats, payments and their fees.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'print help for a command')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => streams.stdout.write(text),
      writeErr: (text) => streams.stderr.write(text),
      outputError: () => {}, // whoever parses reports it, as text or JSON
    })
    .exitOverride()
    .addHelpText('after', HELP);
  addGlobalOptions(program);
  const context = createContext(program, streams);
  registerServe(program, context);
  registerDemo(program, context);
  registerSimulate(program, context);
  registerApp(program, context);
  registerLimits(program, context);
  registerKey(program, context);
  registerLicense(program, context);
  registerSeat(program, context);
  registerSession(program, context);
  registerCallback(program, context);
  registerSlot(program, context);
  registerFee(program, context);
  registerUsage(program, context);
  registerMasterkey(program, context);
  registerSeed(program, context);
  registerMigrate(program, context);
  registerDoctor(program, context);
  registerCompletion(program, context);
  return { program, context };
}
