// The process of hubctl: its words and streams, and what ends it from outside.
import { EXIT } from './failure.ts';
import { runLine } from './run.ts';

process.stdout.on('error', () => {}); // whoever writes is told
process.stderr.on('error', () => {}); // whoever closed it does not want to know

/** Exit codes above this are those of signals. */
const EXIT_OF_SIGNALS = 128;

const [first, ...more] = process.argv.slice(2);
if (first === '__complete') {
  // Before commander sees them: the words of a line that is being typed are nobody's arguments.
  const { printCandidates } = await import('./print-candidates.ts');
  await printCandidates(more, process);
} else {
  const { done, report } = runLine(process.argv.slice(2), process);
  // What nobody waits for would end the process with a stack on the terminal.
  const crash = (error: unknown): void => {
    void report(error).then(
      (code) => process.exit(code === EXIT.ok ? EXIT.failed : code),
      () => process.exit(EXIT.failed),
    );
  };
  process.on('uncaughtException', crash);
  const code = await done;
  // A call that was given up at a signal would keep the process.
  if (code > EXIT_OF_SIGNALS) process.exit(code);
  process.exitCode = code;
}
