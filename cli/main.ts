// Runs hubctl: parses the line, runs the command, turns what goes wrong into one message and an exit code.
import { type Command, CommanderError } from 'commander';
import { complete } from './complete.ts';
import { describeError, type Failure } from './describe-error.ts';
import { EXIT } from './failure.ts';
import { nameOf } from './field-names.ts';
import { printable, printableJson } from './printable.ts';
import { createProgram } from './program.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of a pipe (`| head`) may leave early; that is its right.
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed);
});

process.exitCode = await run(process.argv.slice(2));

async function run(words: readonly string[]): Promise<number> {
  const { program, context } = createProgram(process);
  if (words[0] === '__complete') {
    // Before commander sees them: the words of a line that is being typed are nobody's arguments.
    process.stdout.write(
      complete(program, words.slice(1))
        .map((text) => `${text}\n`)
        .join(''),
    );
    return EXIT.ok;
  }
  let running: Command = program;
  program.hook('preAction', (_, command) => {
    running = command;
  });
  try {
    await program.parseAsync(words, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    if (error instanceof CommanderError && isHelp(error)) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    const { output, debug } = context.options();
    const target = await context.target().catch(() => undefined); // if that is what failed, `error` says so
    const failure = await describeError(error, { target, nameOf: (field) => nameOf(running, field) });
    process.stderr.write(output === 'json' ? json(failure) : text(failure));
    if (debug && error instanceof Error) process.stderr.write(`${error.stack}\n`);
    return failure.exitCode;
  }
}

/** Help and version were printed: no error, whatever the exit code. */
function isHelp({ code }: CommanderError): boolean {
  return code === 'commander.help' || code === 'commander.helpDisplayed' || code === 'commander.version';
}

function text({ message }: Failure): string {
  const [first = '', ...more] = message.split('\n').map(printable);
  return [`hubctl: ${first}`, ...more.map((line) => `        ${line}`)].map((line) => `${line}\n`).join('');
}

function json({ exitCode: _, ...error }: Failure): string {
  return `${printableJson({ error })}\n`;
}
