// The credentials of a slot: from a file, from standard input, or typed without being seen. Never from an argument.
import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { canAsk } from './confirm.ts';
import { usageError } from './failure.ts';
import { askSecrets } from './secret-prompt.ts';
import type { Tools } from './tools.ts';

export type Credentials = Record<string, string>;

/**
 * Reads the JSON object in `file` (`-` is standard input); without a file, asks at the terminal for what `namesWanted`
 * says. With a file, the names are the hub's to check.
 *
 * @throws CliError (usage) that says what is wrong, never with a value; (interrupted) on Ctrl-C.
 */
export async function readCredentials(
  { streams, out }: Pick<Tools, 'streams' | 'out'>,
  file: string | undefined,
  namesWanted: () => Promise<readonly string[]>,
): Promise<Credentials> {
  if (file === '-') return parseCredentials(await text(streams.stdin), 'standard input');
  if (file !== undefined) {
    const { content, isOpen } = await readSecretFile(file);
    if (isOpen) out.note(`Warning: other users can read ${file}. Run: chmod 600 ${file}`);
    return parseCredentials(content, file);
  }
  if (!canAsk(streams)) {
    throw usageError('Give the credentials with --credentials-file, a JSON file, or - for standard input.');
  }
  return askSecrets(await namesWanted(), streams);
}

/** `isOpen`: whether users other than its owner can read it. */
async function readSecretFile(path: string): Promise<{ content: string; isOpen: boolean }> {
  try {
    await using file = await open(path);
    const { mode } = await file.stat();
    return { content: await file.readFile('utf8'), isOpen: (mode & 0o044) !== 0 };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    throw usageError(`--credentials-file: ${path} cannot be read (${code}).`);
  }
}

/** Errors tell nothing of the content: a parser's own message quotes it. */
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
