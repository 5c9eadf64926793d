// The process of hubctl: arguments, streams and signals.
import { EXIT } from './errors/failure.ts';
import { runLine } from './run.ts';

process.stdout.on('error', () => {}); // the writer gets the error
process.stderr.on('error', () => {}); // the reader closed it on purpose

/** Exit codes above this are those of signals. */
const EXIT_OF_SIGNALS = 128;

const [first, ...more] = process.argv.slice(2);
if (first === '__complete') {
  // Completion runs before commander: the words may be an incomplete command line.
  const { printCandidates } = await import('./completion/print-candidates.ts');
  await printCandidates(more, process);
} else {
  const { done, report } = await runLine(process.argv.slice(2), process);
  // An unhandled rejection would end the process with a stack trace.
  const crash = (error: unknown): void => {
    void report(error).then(
      (code) => process.exit(code === EXIT.ok ? EXIT.failed : code),
      () => process.exit(EXIT.failed),
    );
  };
  process.on('uncaughtException', crash);
  const code = await done;
  // A call abandoned at a signal would keep the process alive.
  if (code > EXIT_OF_SIGNALS) process.exit(code);
  process.exitCode = code;
}
