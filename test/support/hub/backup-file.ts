// The files in a backup, for tests that alter them with the passphrase.
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Decrypter } from 'age-encryption';
import tar from 'tar-stream';
import { encrypt } from '../../../core/backup/encryption.ts';

export type BackupEntry = {
  readonly name: string;
  readonly content: Buffer;
  /** False values for the header: another size, or a type flag such as `2` for a symbolic link. */
  readonly header?: { readonly size?: number; readonly type?: string };
};

export async function unpackBackup(path: string, passphrase: string): Promise<BackupEntry[]> {
  const extract = tar.extract();
  const unpacking = pipeline(Readable.from([await openBackup(path, passphrase)]), extract);
  const entries: BackupEntry[] = [];
  for await (const entry of extract) entries.push({ name: entry.header.name, content: await buffer(entry) });
  await unpacking;
  return entries;
}

/** The tar archive in a backup. */
export async function openBackup(path: string, passphrase: string): Promise<Buffer> {
  const decrypter = new Decrypter();
  decrypter.addPassphrase(passphrase);
  return Buffer.from(await decrypter.decrypt(await readFile(path)));
}

export async function packBackup(
  path: string,
  passphrase: string,
  entries: Iterable<BackupEntry>,
): Promise<void> {
  const bytes = async function* () {
    for (const entry of entries) yield tarEntry(entry);
    yield Buffer.alloc(END_BYTES);
  };
  const encrypted = await encrypt(bytes(), { passphrase, logN: 2 });
  await pipeline(Readable.fromWeb(encrypted), createWriteStream(path));
}

const END_BYTES = 1024;
const BLOCK_BYTES = 512;

function tarEntry({ name, content, header }: BackupEntry): Buffer {
  const block = Buffer.alloc(BLOCK_BYTES);
  block.write(name, 0, 100);
  block.write('0000600', 100);
  block.write((header?.size ?? content.length).toString(8).padStart(11, '0'), 124);
  block.write(' '.repeat(8), 148);
  block.write(header?.type ?? '0', 156);
  block.write('ustar\u000000', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  const padding = (BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES;
  return Buffer.concat([block, content, Buffer.alloc(padding)]);
}
