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

/** Default data directory of a hub. */
export const DATA_DIR = './.hub';

/**
 * Declares the options on the root: without positional options, commander finds root options anywhere on the
 * line.
 */
export function addGlobalOptions(program: Command): void {
  program
    .addOption(
      new Option('--context <context>', 'the hub of this context; local is the one on this machine').env(
        'HUBCTL_CONTEXT',
      ),
    )
    .addOption(new Option('--server <url>', "address of the hub's internal port").env('HUBCTL_SERVER'))
    .addOption(
      new Option('--token <token>', 'service token; other users can read the command line').env(
        'HUBCTL_TOKEN',
      ),
    )
    .addOption(
      new Option(
        '--token-file <file>',
        'file of mode 0600 with the service token, or - for standard input',
      ).env('HUBCTL_TOKEN_FILE'),
    )
    .addOption(
      new Option('--ca <file>', 'PEM: certificate authority of the hub, for an https address').env(
        'HUBCTL_CA',
      ),
    )
    .addOption(
      new Option('--client-cert <file>', 'PEM: client certificate instead of a token').env(
        'HUBCTL_CLIENT_CERT',
      ),
    )
    .addOption(new Option('--client-key <file>', 'PEM: key of that certificate').env('HUBCTL_CLIENT_KEY'))
    .addOption(
      new Option('--data-dir <dir>', 'data directory of a local hub').env('HUB_DATA_DIR').default(DATA_DIR),
    )
    .addOption(
      new Option('-o, --output <format>', 'output format').choices(['table', 'json']).default('table'),
    )
    .addOption(
      new Option('--debug', 'log calls with their times, and print stack traces (env: HUBCTL_DEBUG=1)'),
    );
}
