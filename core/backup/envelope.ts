// The file of a backup: a tar archive, encrypted with a passphrase in the age format (age-encryption.org/v1).
//
// `age -d FILE | tar x` opens it by hand. The dump is cut into files, so that neither side has to hold or measure it.
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Decrypter, Encrypter } from 'age-encryption';
import tar, { type Header } from 'tar-stream';

export type Contents = {
  readonly manifest: string;
  /** The key ring, as a master key file has it. */
  readonly keyRing: string;
  readonly dump: AsyncIterable<Buffer>;
};

/** What cannot be opened, with what to do about it. */
export class UnreadableBackup extends Error {
  override readonly name = 'UnreadableBackup';
}

const MANIFEST = 'manifest.json';
const KEY_RING = 'master.key';
const DUMP = /^database\.dump\.\d{5,}$/;
const PART_BYTES = 4 * 1024 * 1024;
/** Neither of the two small files is ever longer. */
const SMALL_BYTES = 1024 * 1024;

export type Lock = {
  readonly passphrase: string;
  /** The passphrase becomes a key by scrypt with N = 2^logN and r = 8; by default 18, about a second. */
  readonly logN?: number;
};

/** Writes and ends `file`. */
export async function writeEnvelope(
  contents: Contents,
  { passphrase, logN = 18 }: Lock,
  file: Writable,
): Promise<void> {
  const encrypter = new Encrypter();
  encrypter.setPassphrase(passphrase);
  encrypter.setScryptWorkFactor(logN);
  const pack = tar.pack();
  pack.on('error', () => {}); // whoever reads it gets the error as well
  const encrypted = await encrypter.encrypt(toWeb(bytesOf(pack)));
  const filling = fill(pack, contents).catch((error) => pack.destroy(error));
  await pipeline(Readable.fromWeb(encrypted), file);
  await filling;
}

async function fill(pack: tar.Pack, { manifest, keyRing, dump }: Contents): Promise<void> {
  await addFile(pack, MANIFEST, Buffer.from(manifest));
  await addFile(pack, KEY_RING, Buffer.from(keyRing));
  let number = 0;
  for await (const part of parts(dump)) {
    await addFile(pack, `database.dump.${String(++number).padStart(5, '0')}`, part);
  }
  pack.finalize();
}

function addFile(pack: tar.Pack, name: string, content: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    // Written to the entry rather than given with it: only that waits for the reader.
    const entry = pack.entry({ name, size: content.length, mode: 0o600 }, (error) =>
      error ? reject(error) : resolve(),
    );
    entry.end(content);
  });
}

async function* parts(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending: Buffer[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    pending.push(chunk);
    size += chunk.length;
    if (size < PART_BYTES) continue;
    yield Buffer.concat(pending);
    pending = [];
    size = 0;
  }
  yield Buffer.concat(pending);
}

/**
 * Calls `use` with what is in the file; the dump has to be read to its end. Everything is checked when `finish`
 * resolves, and not before: until then what was read may come from a file that was changed or cut off.
 *
 * @throws UnreadableBackup if the passphrase is wrong, or the file is no backup, was changed or cut off.
 */
export async function readEnvelope<T>(
  file: Readable,
  passphrase: string,
  use: (contents: Contents, finish: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const decrypter = new Decrypter();
  decrypter.addPassphrase(passphrase);
  const decrypted = await decrypter.decrypt(toWeb(file)).catch((error) => {
    file.destroy();
    throw refusal(error);
  });
  const extract = tar.extract();
  const reading = pipeline(Readable.from(authentic(decrypted)), extract).catch((error: unknown) => {
    // Whoever reads the entries gets it as well, if it was not he who stopped reading.
    extract.destroy(error instanceof Error ? error : new Error(String(error)));
    return error;
  });
  const entries = extract[Symbol.asyncIterator]();
  const finish = async (): Promise<void> => {
    const { done } = await entries.next();
    const damage = await reading;
    if (damage !== undefined) throw damage;
    if (!done) throw new UnreadableBackup('the file holds more than a backup does');
  };
  try {
    const manifest = await smallFile(entries, MANIFEST);
    const keyRing = await smallFile(entries, KEY_RING);
    return await use({ manifest, keyRing, dump: dumpOf(entries) }, finish);
  } finally {
    extract.destroy();
    await reading;
  }
}

/** What was decrypted; in place of the library's errors, those that say what they mean for a backup. */
async function* authentic(decrypted: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* decrypted;
  } catch (error) {
    throw refusal(error);
  }
}

type Entry = AsyncIterable<unknown> & { readonly header: Header };

async function smallFile(entries: AsyncIterator<Entry>, name: string): Promise<string> {
  const { done, value } = await entries.next();
  if (done || value.header.name !== name || (value.header.size ?? 0) > SMALL_BYTES) {
    throw new UnreadableBackup(
      `the file is encrypted well, but it is no backup of a hub: ${name} is not in its place`,
    );
  }
  const chunks: Buffer[] = [];
  for await (const chunk of bytesOf(value)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function* dumpOf(entries: AsyncIterator<Entry>): AsyncGenerator<Buffer> {
  for (let next = await entries.next(); !next.done; next = await entries.next()) {
    if (!DUMP.test(next.value.header.name))
      throw new UnreadableBackup('the file holds more than a backup does');
    yield* bytesOf(next.value);
  }
}

function refusal(error: unknown): UnreadableBackup {
  const reason = error instanceof Error ? error.message : String(error);
  // The library repeats the first line here, and a file named by mistake may be one of credentials.
  if (reason.startsWith('invalid version')) {
    return new UnreadableBackup('the file is no backup: name one that hubctl backup create wrote');
  }
  const message = /no identity matched/.test(reason)
    ? 'the passphrase is wrong'
    : `the file is no backup, or it was changed or cut off (${reason}): take another copy of it`;
  return new UnreadableBackup(message, { cause: error });
}

/** The streams of the tar library do not say what is in them. */
async function* bytesOf(source: AsyncIterable<unknown>): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    if (!(chunk instanceof Uint8Array)) throw new Error('a stream of bytes holds something else');
    yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
}

function toWeb(source: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  return ReadableStream.from(source);
}
