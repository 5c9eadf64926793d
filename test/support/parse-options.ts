// Parses the command lines of the benchmark, fault and fuzz programs.
import { randomInt } from 'node:crypto';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { parseCount } from '../../cli/parse/parse-number.ts';

/** Exits with 2 after a wrong command line: the fault and fuzz programs exit with 1 if they find a defect. */
export function createProgram(name: string): Command {
  return new Command(name).exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));
}

/** The option for the seed of a run's random choices. */
export function seedOption(description: string): Option {
  return new Option('--seed <number>', description)
    .argParser(parseCount)
    .default(randomInt(1, 2 ** 31), 'random');
}

/** The argument for the faults to inject, by their names. */
export function faultsArgument(faults: readonly { readonly name: string }[]): Argument {
  return new Argument('[faults...]', 'default: all').choices(faults.map(({ name }) => name));
}

/** Parses a comma-separated list. Ignores empty elements. */
export function parseList(text: string): string[] {
  return text.split(',').filter((word) => word !== '');
}

export function parseCounts(text: string): number[] {
  return text.split(',').map(parseCount);
}

/** Parses a number above 0, which may have a fraction. */
export function parsePositive(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < Infinity)) throw new InvalidArgumentError('Give a number above 0.');
  return value;
}
