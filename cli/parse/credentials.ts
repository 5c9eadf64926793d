// Reads the credentials of a slot from a file, standard input or a hidden prompt, never from an argument.
import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { codeOf } from '../../lib/caught-error.ts';
import type { CommandContext } from '../command-context.ts';
import { usageError } from '../errors/failure.ts';
import { canPrompt } from './confirm.ts';
import { promptSecrets } from './secret-prompt.ts';

export type Credentials = Record<string, string>;

/**
 * Reads the JSON object in `file` (`-` is standard input). Without a file, prompts for each of `namesWanted`.
 * The hub checks the names of a file.
 * @throws CliError (usage) that never contains a value; (interrupted) on Ctrl-C.
 */
export async function readCredentials(
  { streams, out }: Pick<CommandContext, 'streams' | 'out'>,
  file: string | undefined,
  namesWanted: () => Promise<readonly string[]>,
): Promise<Credentials> {
  if (file === '-') return parseCredentials(await text(streams.stdin), 'standard input');
  if (file !== undefined) {
    const { content, isOpen } = await readSecretFile(file);
    if (isOpen) out.note(`Warning: other users can read ${file}. Run: chmod 600 ${file}`);
    return parseCredentials(content, file);
  }
  if (!canPrompt(streams)) {
    throw usageError('Give the credentials with --credentials-file, a JSON file, or - for standard input.');
  }
  return promptSecrets(await namesWanted(), streams);
}

/** `isOpen`: whether users other than the owner can read the file. */
async function readSecretFile(path: string): Promise<{ content: string; isOpen: boolean }> {
  try {
    await using file = await open(path);
    const { mode } = await file.stat();
    return { content: await file.readFile('utf8'), isOpen: (mode & 0o044) !== 0 };
  } catch (error) {
    throw usageError(`--credentials-file: ${path} cannot be read (${codeOf(error)}).`);
  }
}

/** Its errors omit the content, which a parser's own message would quote. */
function parseCredentials(content: string, from: string): Credentials {
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    throw usageError(`The credentials in ${from} are not JSON. ${FORM}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw usageError(`The credentials in ${from} are not a JSON object. ${FORM}`);
  }
  const texts = Object.entries(value).map(([name, member]): [string, string] => {
    if (typeof member === 'string') return [name, member];
    throw usageError(`The credential ${name} in ${from} is not a string.`);
  });
  return Object.fromEntries(texts);
}

const FORM = 'Write an object with a string for each, such as {"storeId": "…", "storePassword": "…"}.';
