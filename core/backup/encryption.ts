// Encrypts and decrypts a backup with a passphrase, in the age format (age-encryption.org/v1).
import type { Readable } from 'node:stream';
import { Decrypter, Encrypter, type Stanza } from 'age-encryption';
import { messageOf } from '../../lib/caught-error.ts';
import { UnreadableBackup } from './unreadable-backup.ts';

export type PassphraseOptions = {
  readonly passphrase: string;
  /** scrypt derives the key with N = 2^logN and r = 8. Default: 18, which takes about a second. */
  readonly logN?: number;
};

const WORK_FACTOR = 18;
/** The library keeps the whole header in memory. A header for a passphrase has about 150 bytes. */
const HEADER_BYTES = 1024 * 1024;

export async function encrypt(
  bytes: AsyncIterable<Uint8Array>,
  { passphrase, logN = WORK_FACTOR }: PassphraseOptions,
): Promise<ReadableStream<Uint8Array>> {
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  encrypter.setScryptWorkFactor(logN);
  return encrypter.encrypt(ReadableStream.from(bytes));
}

/**
 * Yields authenticated chunks. The file is complete only if the generator ends without an error.
 * @throws UnreadableBackup if the passphrase is wrong, or the file is not a backup, altered or truncated
 */
export async function* decrypt(file: Readable, passphrase: string): AsyncGenerator<Uint8Array> {
  const decrypter = new Decrypter();
  decrypter.addIdentity({ unwrapFileKey: requireAffordable });
  decrypter.addPassphrase(passphrase);
  const header = { isRead: false };
  try {
    const decrypted = await decrypter.decrypt(ReadableStream.from(withShortHeader(file, header)));
    header.isRead = true;
    yield* decrypted;
  } catch (error) {
    throw describe(error);
  } finally {
    file.destroy();
  }
}

async function* withShortHeader(
  file: AsyncIterable<Uint8Array>,
  header: { readonly isRead: boolean },
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of file) {
    bytes += chunk.length;
    if (!header.isRead && bytes > HEADER_BYTES) throw notOurs();
    yield chunk;
  }
}

/**
 * Refuses a larger work factor. Anybody can write a header, and scrypt would take a gigabyte of memory before
 * the passphrase is checked.
 */
function requireAffordable(stanzas: Stanza[]): null {
  const factor = stanzas.find(({ args }) => args[0] === 'scrypt')?.args[2];
  if (factor === undefined || Number(factor) <= WORK_FACTOR) return null;
  throw new UnreadableBackup(
    `the file has the scrypt work factor ${factor.slice(0, 10)}, and a backup has ${WORK_FACTOR}: ` +
      'give one that hubctl backup create wrote',
  );
}

function describe(error: unknown): UnreadableBackup {
  if (error instanceof UnreadableBackup) return error;
  const reason = messageOf(error);
  // The library's message quotes the first line, and a file named by mistake may contain credentials.
  if (reason.startsWith('invalid version')) return notOurs();
  const message = /no identity matched/.test(reason)
    ? 'the passphrase is wrong'
    : `the file is not a backup, or it is altered or truncated (${reason}): take another copy of it`;
  return new UnreadableBackup(message, { cause: error });
}

function notOurs(): UnreadableBackup {
  return new UnreadableBackup('the file is not a backup: give one that hubctl backup create wrote');
}
