// Runs a line of hubctl: parses it, runs the command, turns what goes wrong into one message and an exit code.
import { type Command, CommanderError } from 'commander';
import { describeError, type Failure } from './describe-error.ts';
import { explainUsage, pathOf } from './explain-usage.ts';
import { CliError, EXIT, usageError } from './failure.ts';
import { failureText } from './failure-text.ts';
import { givenByKind, givenFor } from './field-names.ts';
import { createProgram } from './program.ts';
import { didYouMean } from './similar.ts';
import type { Streams, Tools } from './tools.ts';

export type Line = {
  /** Resolves with the exit code. */
  readonly done: Promise<number>;
  /** Says on standard error what went wrong; answers the exit code. */
  report(error: unknown): Promise<number>;
};

/** @param words Those after `hubctl`. */
export function runLine(words: readonly string[], streams: Streams): Line {
  const { program, tools, printed, complaint } = createProgram(streams);
  const started = performance.now();
  let running: Command = program;
  program.hook('preAction', (_, command) => {
    running = command;
    const empty = command.registeredArguments.find((_, index) => command.processedArgs[index] === '');
    if (empty)
      throw usageError(`${empty.name()}: this is empty, as an unset variable of a script leaves it.`);
  });
  const report = async (error: unknown): Promise<number> => {
    if (error instanceof CommanderError && isHelp(error) && error.exitCode === 0)
      return tools.out.text(printed()).then(() => EXIT.ok, report);
    if (error instanceof CliError && error.exitCode === EXIT.ok) return EXIT.ok;
    const { output } = tools.options();
    const debug = tools.debug();
    tools.progress.clear();
    if (error instanceof CommanderError && isHelp(error) && output !== 'json') {
      streams.stderr.write(complaint());
      return EXIT.usage;
    }
    const target = await tools.target().catch(() => undefined); // if that is what failed, `error` says so
    const refused = error instanceof CommanderError ? usageError(explainUsage(error, program)) : error;
    const about = { target, givenFor: (field: string) => givenFor(running, field) };
    const failure = await withGuess(await describeError(refused, about), running, tools);
    const stack = debug.on ? debug.stackOf(error) : undefined;
    streams.stderr.write(failureText(failure, output === 'json', stack));
    return failure.exitCode;
  };
  const run = async (): Promise<number> => {
    const { interruption } = tools;
    const finish = (): void => {
      if (interruption.signal.aborted)
        throw interruption.error('Everything that the command was to do is done.');
    };
    const code = await program
      .parseAsync(words, { from: 'user' })
      .then(finish)
      .then(() => EXIT.ok, report);
    interruption.release();
    tools.debug().tell('done', { ms: Math.round(performance.now() - started), exitCode: code });
    return code;
  };
  return { done: run(), report };
}

/** Says which of the names that there are was probably meant. */
async function withGuess({ unknown, ...failure }: Failure, command: Command, tools: Tools): Promise<Failure> {
  if (unknown === undefined) return failure;
  const { knownNames } = await import('./known-names.ts');
  const line = { command: pathOf(command).split(' ').slice(1).join(' '), given: givenByKind(command) };
  const names = (await knownNames(unknown.kind, tools, line)).map(({ value }) => value);
  const guess = didYouMean(unknown.value, names);
  if (guess === '') return failure;
  return { ...failure, message: `${failure.message.replace(/[.]?$/, '.')}${guess}` };
}

/** Help and version were printed: no error, whatever the exit code. */
function isHelp({ code }: CommanderError): boolean {
  return code === 'commander.help' || code === 'commander.helpDisplayed' || code === 'commander.version';
}
