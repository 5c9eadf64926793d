// Starts one of several programs by the first argument, and removes that argument.
import { codeOf } from '../../lib/caught-error.ts';

/**
 * `programs` maps a name to a module. The name '' is the default, which also gets an unknown first argument.
 */
export async function runNamedProgram(programs: ReadonlyMap<string, () => Promise<unknown>>): Promise<void> {
  const word = process.argv[2] ?? '';
  const named = programs.get(word);
  if (named !== undefined) process.argv.splice(2, 1);
  try {
    await (named ?? programs.get(''))?.();
  } catch (error) {
    if (!(error instanceof Error) || !codeOf(error)?.startsWith('ERR_PARSE_ARGS')) throw error;
    const names = [...programs.keys()].filter((name) => name !== '').join(', ');
    process.stderr.write(`${error.message}\nThe first argument may name one of these programs: ${names}\n`);
    process.exitCode = 2;
  }
}
