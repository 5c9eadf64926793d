// The options every command takes, before or after its name.
import { type Command, Option } from 'commander';

export type GlobalOptions = {
  readonly server?: string;
  readonly token?: string;
  readonly dataDir: string;
  readonly output: 'table' | 'json';
  readonly debug?: boolean;
};

/** Declares them on the root: without positional options, commander finds root options anywhere on the line. */
export function addGlobalOptions(program: Command): void {
  program
    .addOption(new Option('--server <url>', "address of the hub's internal port").env('HUBCTL_SERVER'))
    .addOption(
      new Option('--token <token>', 'service token; other users can read the command line').env(
        'HUBCTL_TOKEN',
      ),
    )
    .addOption(
      new Option('--data-dir <dir>', 'data directory of a local hub').env('HUB_DATA_DIR').default('./.hub'),
    )
    .addOption(
      new Option('--output <format>', 'how results are printed').choices(['table', 'json']).default('table'),
    )
    .addOption(new Option('--debug', 'print stack traces of errors'));
}
