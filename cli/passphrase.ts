// The passphrase of a backup: from a file, from standard input, or typed without being seen. Never from an argument.
import type { Readable } from 'node:stream';
import { MOST_SECRET_BYTES, readSecretFile } from '../core/storage/secret-file.ts';
import { canAsk } from './confirm.ts';
import { usageError } from './failure.ts';
import { askSecrets } from './secret-prompt.ts';
import type { Streams } from './tools.ts';

/** Whoever has the file may try as many as he likes. */
const SHORTEST = 12;

/**
 * Reads the first line of `file` (`-` is standard input); without a file, asks at the terminal.
 *
 * @param fresh Whether it is a new one: then it has to be long enough, and is asked for twice.
 * @throws CliError (usage) that says what is wrong, never with the passphrase; (interrupted) on Ctrl-C.
 */
export async function readPassphrase(
  streams: Streams,
  file: string | undefined,
  { fresh }: { fresh: boolean },
): Promise<string> {
  const passphrase = file === undefined ? await ask(streams, fresh) : firstLine(await read(streams, file));
  if (passphrase === '') throw usageError('The passphrase is empty.');
  if (fresh && passphrase.length < SHORTEST) {
    throw usageError(
      `The passphrase is too short: the file holds every secret of the hub. Give ${SHORTEST} characters.`,
    );
  }
  return passphrase;
}

async function read({ stdin }: Streams, file: string): Promise<string> {
  if (file === '-') return readStart(stdin);
  try {
    return readSecretFile(file, 'passphrase file');
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    if (!('code' in error)) throw usageError(`--passphrase-file: ${error.message}`);
    throw usageError(`--passphrase-file: ${file} cannot be read (${error.code}).`);
  }
}

/** Up to the end of the first line at least, and not much more: a pipe may not end. */
async function readStart(stdin: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    size += bytes.length;
    if (bytes.includes('\n')) break;
    if (size > MOST_SECRET_BYTES)
      throw usageError('--passphrase-file: the first line of standard input has more than 1 MiB.');
  }
  return Buffer.concat(chunks).toString();
}

function firstLine(content: string): string {
  return content.split(/\r?\n/, 1)[0] ?? '';
}

async function ask(streams: Streams, fresh: boolean): Promise<string> {
  if (!canAsk(streams)) {
    throw usageError(
      'Give the passphrase with --passphrase-file, a file of mode 0600, or - for standard input.',
    );
  }
  const [first, again] = fresh ? ['Passphrase', 'The same again'] : ['Passphrase', 'Passphrase'];
  const answers = await askSecrets([...new Set([first, again])], streams);
  const passphrase = answers[first] ?? '';
  if (answers[again] !== passphrase) throw usageError('The two passphrases differ.');
  return passphrase;
}
