// Declares the options of every command, accepted before or after its name.
import { type Command, Option } from 'commander';

export type GlobalOptions = {
  readonly context?: string;
  readonly server?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly ca?: string;
  readonly clientCert?: string;
  readonly clientKey?: string;
  readonly dataDir: string;
  readonly output: 'table' | 'json';
  readonly debug?: boolean;
};

export const DATA_DIR = './.hub';

const OPTIONS: readonly (readonly [flags: string, description: string, variable: string])[] = [
  ['--context <context>', 'the hub of this context; local is the one on this machine', 'HUBCTL_CONTEXT'],
  ['--server <url>', "address of the hub's internal port", 'HUBCTL_SERVER'],
  ['--token <token>', 'service token; other users can read the command line', 'HUBCTL_TOKEN'],
  [
    '--token-file <file>',
    'file of mode 0600 with the service token, or - for standard input',
    'HUBCTL_TOKEN_FILE',
  ],
  ['--ca <file>', 'PEM: certificate authority of the hub, for an https address', 'HUBCTL_CA'],
  ['--client-cert <file>', 'PEM: client certificate instead of a token', 'HUBCTL_CLIENT_CERT'],
  ['--client-key <file>', 'PEM: key of that certificate', 'HUBCTL_CLIENT_KEY'],
];

/**
 * Declares the options on the root: without positional options, commander finds root options anywhere on the
 * line.
 */
export function addGlobalOptions(program: Command): void {
  for (const [flags, description, variable] of OPTIONS)
    program.addOption(new Option(flags, description).env(variable));
  program
    .addOption(
      new Option('--data-dir <dir>', 'data directory of a local hub').env('HUB_DATA_DIR').default(DATA_DIR),
    )
    .addOption(
      new Option('-o, --output <format>', 'output format').choices(['table', 'json']).default('table'),
    )
    .option('--debug', 'log calls with their times, and print stack traces (env: HUBCTL_DEBUG=1)');
}
