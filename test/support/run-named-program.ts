// Starts one of several programs by the first word of the command line, which the program does not see.

/** `programs` maps a word to a module; '' names the one that runs without a word. Other words are left to it. */
export async function runNamedProgram(programs: ReadonlyMap<string, () => Promise<unknown>>): Promise<void> {
  const word = process.argv[2] ?? '';
  const named = programs.get(word);
  if (named !== undefined) process.argv.splice(2, 1);
  await (named ?? programs.get(''))?.();
}
