// Encrypts and decrypts a backup with a passphrase, in the age format (age-encryption.org/v1).
import type { Readable } from 'node:stream';
import { Decrypter, Encrypter, type Stanza } from 'age-encryption';
import { messageOf } from '../../lib/caught-error.ts';
import { UnreadableBackup } from './unreadable.ts';

export type PassphraseOptions = {
  readonly passphrase: string;
  /** The passphrase becomes a key by scrypt with N = 2^logN and r = 8; by default 18, about a second. */
  readonly logN?: number;
};

const WORK_FACTOR = 18;
/** The library keeps all of a header in memory. One of a passphrase has about 150 bytes. */
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
 * Each piece is authentic. Only the end of the generator proves that the file is complete.
 * @throws UnreadableBackup if the passphrase is wrong, or the file is no backup, was changed or cut off.
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
 * Anybody can write a header. A larger work factor takes a gigabyte of memory before the passphrase is
 * checked.
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
  // The library repeats the first line here, and a file named by mistake may be one of credentials.
  if (reason.startsWith('invalid version')) return notOurs();
  const message = /no identity matched/.test(reason)
    ? 'the passphrase is wrong'
    : `the file is not a backup, or it is altered or truncated (${reason}): take another copy of it`;
  return new UnreadableBackup(message, { cause: error });
}

function notOurs(): UnreadableBackup {
  return new UnreadableBackup('the file is not a backup: give one that hubctl backup create wrote');
}
