// hubctl console: prints the address of the console and opens it in a browser.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addCommand } from '../../command-help.ts';
import { CliError, EXIT } from '../../errors/failure.ts';
import * as json from '../../views/schema.ts';

const CONSOLE_ADDRESS = json.object('ConsoleAddress', { console: json.text('where the console is') });

export function registerConsole(program: Command, { target, out }: CommandContext): void {
  addCommand(program, 'console', {
    description:
      'Prints the address of the console, which shows sessions, callbacks, licenses, usage and the audit log in a browser. Sign in with a token: hubctl does not pass its own.',
    notes: [
      'The hub serves the console on the internal port. For a hub on another machine, open an SSH tunnel first: ssh -L 5100:127.0.0.1:5100 HOST.',
    ],
    examples: ['hubctl console --open'],
    prints: { document: CONSOLE_ADDRESS },
  })
    .option('--open', 'open it in a browser on this machine')
    .action(async ({ open }: { open?: true }) => {
      const address = `${(await target()).server}/console/`;
      await out.record({ console: address }, [{ title: 'Console', cell: (item) => item.console }]);
      if (open) await openInBrowser(address);
    });
}

const OPENERS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
};

async function openInBrowser(address: string): Promise<void> {
  const [program, ...words] = OPENERS[process.platform] ?? ['xdg-open'];
  const opener = spawn(program, [...words, address], { stdio: 'ignore', detached: true });
  try {
    await once(opener, 'spawn');
  } catch {
    throw new CliError('no_browser', EXIT.failed, `There is no ${program} here: open ${address} yourself.`);
  }
  opener.unref();
}
