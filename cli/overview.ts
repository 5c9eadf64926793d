// The general part of the help and of the command reference.
import type { Help } from 'commander';
import { EXIT } from './errors/failure.ts';

export const DESCRIPTION = 'Runs and administers a hub: licenses and their seats, payments and their fees.';

/** How hubctl finds the hub and the token; a paragraph. */
export const WHICH_HUB =
  'hubctl finds the hub by precedence: --context, --server or --data-dir; HUBCTL_SERVER, HUBCTL_CONTEXT or HUB_DATA_DIR; the current context (`hubctl context use`); the local hub of the data directory. The token comes from --token-file or --token, then the environment, then the context or the data directory. The token of a context or a data directory is sent only to its own hub.';

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.ok, 'done'],
  [EXIT.failed, 'the hub refused the request or failed'],
  [EXIT.usage, 'invalid command line; nothing was changed'],
  [EXIT.unreachable, 'the hub is unreachable'],
  [EXIT.notAllowed, 'not allowed'],
  [EXIT.differs, 'the books do not agree (`usage reconcile`)'],
  [EXIT.interrupted, 'interrupted by Ctrl-C (SIGINT); 129 by SIGHUP, 143 by SIGTERM'],
];

export const EXAMPLE = 'hubctl key issue --app photo-lab --seats 3 --output json';

/** Environment variables that belong to no option. */
export const VARIABLES: readonly (readonly [name: string, meaning: string])[] = [
  ['HUBCTL_DEBUG', '1 is the same as --debug.'],
  ['XDG_CONFIG_HOME', 'Directory of `hubctl/contexts.json` (default: `~/.config`).'],
  ['XDG_CACHE_HOME', 'Directory of the compile cache `hubctl` (default: `~/.cache`).'],
  ['NO_COLOR', 'Disables bold text, which only terminals get.'],
  ['CI', 'Disables progress lines.'],
];

export const FILES: readonly (readonly [path: string, meaning: string])[] = [
  ['~/.config/hubctl/contexts.json', 'the contexts with their tokens, mode 0600'],
  ['./.hub/hub.json', 'addresses of the hub of the data directory while it runs'],
  ['./.hub/admin-token', 'an admin token of that hub, mode 0600'],
];

/** Rules for the JSON output of all commands; paragraphs. */
export const ABOUT_JSON: readonly string[] = [
  'With `--output json` a command prints one JSON document to standard output and nothing else: an object, or for a list one array with one item per line (`customer list`, `endpoint list` and `event list`: an object with the array and its `count`). Continuous output (`session watch`, `event tail`, `event listen`, `demo`, `simulate`, `--watch`) and exports are JSON lines: one object per line.',
  'Members keep their names and meanings. New members may be added: ignore unknown ones. A member without a value is absent. Times are RFC 3339 in UTC with milliseconds. Amounts of money have a decimal (`amount`), a whole number in minor units (`minorUnits`) and an ISO 4217 code (`currency`). -1 is unlimited. An id is a prefix and 26 characters. An enum value from a newer hub is `unknown`.',
  'An error is an object in the last line of standard error, `{"error": {…}}`, with the exit code; standard output may contain output from before the error. Notes are omitted.',
];

/** The help below the list of commands. */
export function overviewText(help: Help): string {
  const codes = EXIT_CODES.map(([code, meaning]) => `  ${String(code).padEnd(5)}${meaning}`);
  return [
    help.boxWrap(WHICH_HUB, help.helpWidth ?? 80),
    `Exit codes:\n${codes.join('\n')}`,
    `Example:\n  ${EXAMPLE}`,
  ]
    .map((paragraph) => `\n${paragraph}\n`)
    .join('');
}
