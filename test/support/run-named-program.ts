// Starts one of several programs by the first argument, and removes that argument.

/**
 * `programs` maps a name to a module. The name '' is the default, which also gets an unknown first argument.
 */
export async function runNamedProgram(programs: ReadonlyMap<string, () => Promise<unknown>>): Promise<void> {
  const word = process.argv[2] ?? '';
  const named = programs.get(word);
  if (named !== undefined) process.argv.splice(2, 1);
  // The help of the default program does not list the others.
  if (word === '--help' || word === '-h') {
    const names = [...programs.keys()].filter((name) => name !== '').join(', ');
    process.stdout.write(`The first argument may name another program, which has a --help too: ${names}\n\n`);
  }
  await (named ?? programs.get(''))?.();
}
