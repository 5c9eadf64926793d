// Options that several commands share.
import { type Command, Option } from 'commander';
import { parseExpiry } from './parse-expiry.ts';
import { parseCount } from './parse-number.ts';
import { parseBound } from './parse-time.ts';

export const maxOption = (): Option =>
  new Option('--max <n>', 'maximum number of results (default: all)').argParser(parseCount);

export const yesOption = (): Option => new Option('--yes', 'skip the confirmation');

/** An option whose value is one of these words: the keys of `words`. */
export const choiceOption = (flags: string, description: string, words: object): Option =>
  new Option(flags, description).choices(Object.keys(words));

/** Adds `--from` and `--to`. @param what The items of the period: `payments settled` */
export function addPeriod(command: Command, what: string): Command {
  return command
    .addOption(
      new Option('--from <when>', `only ${what} from this day (UTC) or time on`).argParser(parseBound),
    )
    .addOption(new Option('--to <when>', `only ${what} before this day (UTC) or time`).argParser(parseBound));
}

/** Adds `--out` and `--force`. @param what The content of the file: `the keys` */
export function addOutFile(command: Command, what: string): Command {
  return command
    .option('--out <file>', `write ${what} to this file instead of standard output`)
    .option('--force', 'overwrite an existing file');
}

/** @param parse Parses the value; by default to a Date. */
export const expiresOption = (
  parse: (text: string) => unknown = (text) => parseExpiry(text, new Date()),
): Option =>
  new Option(
    '--expires <when>',
    'last day, to its end in UTC (2026-12-31), RFC 3339 time, or period from now (30d, 6m, 1y); default: never',
  ).argParser(parse);

export const credentialsOption = (): Option =>
  new Option('--credentials-file <file>', 'JSON file of the credentials, or - for standard input');

/** Parser of a repeatable option. */
export function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
