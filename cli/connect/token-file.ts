// Reads a token from a file that nobody else can read, or from standard input.
import { readFileSync } from 'node:fs';
import { readSecretFile } from '../../lib/files/secret-file.ts';
import { usageError } from '../errors/failure.ts';
import type { Given } from './check-target.ts';

/**
 * @param file Its path (`-` for standard input) and the option that named it, such as `--token-file`.
 * @throws CliError (usage) that never contains the token
 */
export function readTokenFile({ value: file, from }: Given): Given {
  const read = () => (file === '-' ? readFileSync(0, 'utf8') : readSecretFile(file, 'token file'));
  const text = readOptionFile({ value: file, from }, read);
  return { value: text.trim(), from: file === '-' ? 'standard input' : file };
}

/** Reads a file that an option names. @throws CliError (usage) that never contains the content */
export function readOptionFile({ value: file, from }: Given, read: () => string): string {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (!('code' in error)) throw usageError(`${from}: ${error.message}`);
    throw usageError(`${from}: ${file} cannot be read (${error.code}).`);
  }
}
