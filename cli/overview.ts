// What help and manual say of hubctl as a whole.
import type { Help } from 'commander';
import { EXIT } from './failure.ts';

export const DESCRIPTION = 'Runs and administers a hub: licenses and their seats, payments and their fees.';

/** How the hub and the token are found; a paragraph. */
export const WHICH_HUB =
  'The hub is the one of --context, --server or --data-dir; else of HUBCTL_SERVER, HUBCTL_CONTEXT or HUB_DATA_DIR; else of the context in use (`hubctl context use`); else the local one, which the data directory names. The token comes from --token-file or --token, else the environment, else the context or the data directory, whose token is sent to its own hub only.';

export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.ok, 'done'],
  [EXIT.failed, 'the hub refused or failed'],
  [EXIT.usage, 'wrong usage, nothing was done'],
  [EXIT.unreachable, 'no hub was reached'],
  [EXIT.notAllowed, 'not allowed'],
  [EXIT.interrupted, 'interrupted by Ctrl-C (SIGINT); 129 by SIGHUP, 143 by SIGTERM'],
];

export const EXAMPLE = 'hubctl key issue --app photo-lab --seats 3 --output json';

/** Variables that are no option's. */
export const VARIABLES: readonly (readonly [name: string, meaning: string])[] = [
  ['HUBCTL_DEBUG', '1 is the same as --debug.'],
  ['XDG_CONFIG_HOME', 'Where the contexts are kept, in `hubctl/contexts.json`; by default `~/.config`.'],
  [
    'XDG_CACHE_HOME',
    'Where an installed hubctl keeps its code compiled, in `hubctl`; by default `~/.cache`.',
  ],
  ['NO_COLOR', 'Prints nothing in bold. Off a terminal nothing is, anyway.'],
  ['CI', 'Shows no progress, not on a terminal either.'],
];

export const FILES: readonly (readonly [path: string, meaning: string])[] = [
  ['~/.config/hubctl/contexts.json', 'the contexts with their tokens, mode 0600'],
  ['./.hub/hub.json', 'where the hub of the data directory is reached, while it runs'],
  ['./.hub/admin-token', 'an admin token of that hub, mode 0600'],
];

/** What holds for the JSON of all commands; paragraphs. */
export const ABOUT_JSON: readonly string[] = [
  'With `--output json` a command prints one JSON document to standard output and nothing else: an object, or for a list one array with an item a line. What goes on (`session watch`, `demo`, `simulate`, `--watch`) and what is exported prints JSON lines: one object a line, as it comes.',
  'Members keep their names and meanings; new ones may be added, so ignore those you do not know. A member that has no value is missing. Times are RFC 3339 in UTC with milliseconds. Amounts of money have a decimal (`amount`), a whole number in minor units (`minorUnits`) and an ISO 4217 code (`currency`). -1 is unlimited. An id is a prefix and 26 characters. A word that this version does not know, because the hub is newer, is `unknown`.',
  'What goes wrong is an object in the last line of standard error, `{"error": {…}}`, with the exit code; standard output may hold what was printed until then. Notes to people are left out.',
];

/** What the help of the program says below its commands. */
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
