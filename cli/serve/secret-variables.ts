// Reads secret settings from a variable or from the file that `<variable>_FILE` names; never from the command
// line.
import { readSecretFile } from '../../lib/files/secret-file.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export function variableInUse(name: string, environment: Environment): string {
  return environment[`${name}_FILE`] ? `${name}_FILE` : name;
}

/**
 * The value, if set. @throws Error if the file cannot be read, others can read it, or both variables are set
 */
export function readVariable(name: string, environment: Environment): string | undefined {
  const file = environment[`${name}_FILE`];
  if (!file) return environment[name] || undefined;
  if (environment[name]) throw new Error(`set this or ${name}, not both`);
  return readSecretFile(file, 'file').trim();
}

/** @throws Error if an address on the command line contains a password */
export function requirePublic(name: string, value: string): void {
  if (!URL.canParse(value) || new URL(value).password === '') return;
  throw new Error(`holds a password, and other users can read the command line: set ${name} or ${name}_FILE`);
}
