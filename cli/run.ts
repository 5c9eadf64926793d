// Runs a hubctl command line: parses it, runs the command, turns an error into one message and an exit code.
import { type Command, CommanderError } from 'commander';
import type { CommandContext } from './command-context.ts';
import { describeError } from './errors/describe-error.ts';
import { didYouMean } from './errors/did-you-mean.ts';
import type { Failure } from './errors/error-document.ts';
import { explainUsage, pathOf } from './errors/explain-usage.ts';
import { CliError, EXIT, usageError } from './errors/failure.ts';
import { failureText } from './errors/failure-text.ts';
import { loadCommands } from './load-commands.ts';
import { givenByKind, givenFor } from './parse/field-names.ts';
import { createProgram } from './program.ts';
import type { Streams } from './streams.ts';

export type Line = {
  /** Resolves with the exit code. */
  readonly done: Promise<number>;
  /** Prints the error on standard error; returns the exit code. */
  report(error: unknown): Promise<number>;
};

/** @param words The words after `hubctl`. */
export async function runLine(words: readonly string[], streams: Streams): Promise<Line> {
  const { program, commandContext, printed, complaint } = createProgram(streams, await loadCommands(words));
  const started = performance.now();
  let running: Command = program;
  program.hook('preAction', (_, command) => {
    running = command;
    const empty = command.registeredArguments.find((_, index) => command.processedArgs[index] === '');
    if (empty)
      throw usageError(`${empty.name()}: this is empty, probably because a variable of the script is unset.`);
  });
  const explain = async (error: CommanderError): Promise<string> => {
    // The word may belong to a command that was not loaded.
    const isUnknown = error.code === 'commander.unknownCommand';
    const all = isUnknown ? createProgram(streams, await loadCommands()).program : program;
    return explainUsage(error, program, all);
  };
  const report = async (error: unknown): Promise<number> => {
    if (error instanceof CommanderError && isHelp(error) && error.exitCode === 0)
      return commandContext.out.text(printed()).then(() => EXIT.ok, report);
    if (error instanceof CliError && error.exitCode === EXIT.ok) return EXIT.ok;
    const { output } = commandContext.options();
    const debug = commandContext.debug();
    commandContext.progress.clear();
    if (error instanceof CommanderError && isHelp(error) && output !== 'json') {
      streams.stderr.write(complaint());
      return EXIT.usage;
    }
    const target = await commandContext.target().catch(() => undefined); // if this fails, `error` says why
    const refused = error instanceof CommanderError ? usageError(await explain(error)) : error;
    const about = { target, givenFor: (field: string) => givenFor(running, field) };
    const failure = await withGuess(await describeError(refused, about), running, commandContext);
    const stack = debug.on ? debug.stackOf(error) : undefined;
    streams.stderr.write(failureText(failure, output === 'json', stack));
    return failure.exitCode;
  };
  const run = async (): Promise<number> => {
    const { interruption } = commandContext;
    const finish = (): void => {
      if (interruption.signal.aborted) throw interruption.error('The command has finished its work.');
    };
    const code = await program
      .parseAsync(words, { from: 'user' })
      .then(finish)
      .then(() => EXIT.ok, report);
    interruption.release();
    commandContext.debug().tell('done', { ms: Math.round(performance.now() - started), exitCode: code });
    return code;
  };
  return { done: run(), report };
}

/** Adds a suggestion from the existing names. */
async function withGuess(
  { unknown, ...failure }: Failure,
  command: Command,
  commandContext: CommandContext,
): Promise<Failure> {
  if (unknown === undefined) return failure;
  const { knownNames } = await import('./errors/known-names.ts');
  const line = { command: pathOf(command).split(' ').slice(1).join(' '), given: givenByKind(command) };
  const names = (await knownNames(unknown.kind, commandContext, line)).map(({ value }) => value);
  const guess = didYouMean(unknown.value, names);
  if (guess === '') return failure;
  return { ...failure, message: `${failure.message.replace(/[.]?$/, '.')}${guess}` };
}

/** Help or version was printed, which is no error. */
function isHelp({ code }: CommanderError): boolean {
  return code === 'commander.help' || code === 'commander.helpDisplayed' || code === 'commander.version';
}
