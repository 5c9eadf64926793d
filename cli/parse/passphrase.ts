// Reads the passphrase of a backup from a file, standard input or a hidden prompt, never from an argument.
import type { Readable } from 'node:stream';
import { MAX_SECRET_BYTES, readSecretFile } from '../../lib/files/secret-file.ts';
import { readOptionFile } from '../connect/token-file.ts';
import { usageError } from '../errors/failure.ts';
import type { Streams } from '../streams.ts';
import { canPrompt } from './confirm.ts';
import { promptSecrets } from './secret-prompt.ts';

/** Minimum length: an attacker who has the file can try passphrases without limit. */
const SHORTEST = 12;

/**
 * Reads the first line of `file` (`-` is standard input). Without a file, prompts for it.
 * @param fresh Whether the passphrase is new: it must be long enough, and the prompt repeats.
 * @throws CliError (usage) that never contains the passphrase; (interrupted) on Ctrl-C.
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
  const named = { value: file, from: '--passphrase-file' };
  return readOptionFile(named, () => readSecretFile(file, 'passphrase file'));
}

/** Reads at least to the end of the first line, and not much more: a pipe may stay open. */
async function readStart(stdin: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    size += bytes.length;
    if (bytes.includes('\n')) break;
    if (size > MAX_SECRET_BYTES)
      throw usageError('--passphrase-file: the first line of standard input has more than 1 MiB.');
  }
  return Buffer.concat(chunks).toString();
}

function firstLine(content: string): string {
  return content.split(/\r?\n/, 1)[0] ?? '';
}

async function ask(streams: Streams, fresh: boolean): Promise<string> {
  if (!canPrompt(streams)) {
    throw usageError(
      'Give the passphrase with --passphrase-file, a file of mode 0600, or - for standard input.',
    );
  }
  const [first, again] = fresh ? ['Passphrase', 'Repeat the passphrase'] : ['Passphrase', 'Passphrase'];
  const answers = await promptSecrets([...new Set([first, again])], streams);
  const passphrase = answers[first] ?? '';
  if (answers[again] !== passphrase) throw usageError('The two passphrases differ.');
  return passphrase;
}
