// Opens and checks the file of `--out` before there is output.
import { constants, fstatSync, type Stats } from 'node:fs';
import { type FileHandle, open, stat, statfs, unlink } from 'node:fs/promises';
import { usageError } from '../errors/failure.ts';
import type { Interruption } from '../interrupt/interruption.ts';
import type { Streams } from '../streams.ts';
import { openPipe, type ResultsFile, throughStream } from './pipe-file.ts';
import { megabytes } from './progress.ts';

export type ResultsFileOptions = {
  readonly path: string;
  /** Whether to overwrite an existing file. It keeps its content until the first write. */
  readonly force: boolean;
  /** Text at the start of the file. Written immediately, except when overwriting a file. */
  readonly head?: string;
  /** Minimum number of further bytes. */
  readonly bytes?: number;
  /**
   * Whether the content is secret: only the owner may read the file, and its content cannot be produced
   * again.
   */
  readonly secret?: boolean;
  readonly streams: Pick<Streams, 'stdout'>;
  readonly interruption: Pick<Interruption, 'signal' | 'error'>;
};

/**
 * Opens a file. A created file is readable by its owner only. A pipe, a terminal or another device is written
 * to without being emptied.
 * @throws CliError (usage) if the file exists and may not be overwritten, cannot be written, or the disk has
 * too little space
 */
export async function openForResults(options: ResultsFileOptions): Promise<ResultsFile> {
  const { path, head = '' } = options;
  const { file, opened } = await openAny(options).catch((error) => {
    throw systemErrorIn(path, error);
  });
  try {
    if (opened !== 'kept' && head !== '') await file.write(head);
    return opened === 'created' ? removable(file, path) : file;
  } catch (error) {
    await file.close();
    if (opened === 'created') await unlink(path);
    throw systemErrorIn(path, error);
  }
}

type Opened = { readonly file: ResultsFile; readonly opened: 'created' | 'kept' | 'stream' };

async function openAny(options: ResultsFileOptions): Promise<Opened> {
  const { path, force, streams, interruption } = options;
  const found = await stat(path).catch((error) => {
    if (error.code !== 'ENOENT') throw error;
  });
  if (found === undefined) return createdFile(options);
  if (streams.stdout === process.stdout && isStandardOutput(found))
    return { file: throughStream(streams.stdout, true), opened: 'stream' };
  if (found.isFIFO())
    return { file: throughStream(await openPipe(path, interruption), false), opened: 'stream' };
  if (found.isCharacterDevice()) return { file: plainFile(await openToWrite(path)), opened: 'stream' };
  if (!found.isFile()) throw usageError(`${path} is ${kindOf(found)}. Give another file with --out.`);
  if (!force) throw fileExists(path);
  return overwrittenFile(options, found);
}

async function createdFile(options: ResultsFileOptions): Promise<Opened> {
  const { path, secret = false } = options;
  const { O_WRONLY, O_CREAT, O_EXCL } = constants;
  const handle = await open(path, O_WRONLY | O_CREAT | O_EXCL, 0o600);
  try {
    await requireRoom(options, 0);
  } catch (error) {
    await handle.close();
    await unlink(path);
    throw error;
  }
  return { file: plainFile(handle, secret), opened: 'created' };
}

async function overwrittenFile(options: ResultsFileOptions, { size, blocks }: Stats): Promise<Opened> {
  const { path, head = '', secret = false } = options;
  const handle = await openToWrite(path);
  try {
    await handle.truncate(size); // changes nothing, but fails if the file cannot be emptied later
    await requireRoom(options, blocks * 512);
  } catch (error) {
    await handle.close();
    throw error;
  }
  const file = plainFile(handle, secret);
  let isEmptied = false;
  const write = async (text: string): Promise<void> => {
    if (isEmptied) return file.write(text);
    if (secret) await handle.chmod(0o600);
    await handle.truncate();
    isEmptied = true;
    await file.write(head + text);
  };
  return { file: { ...file, write }, opened: 'kept' };
}

function plainFile(handle: FileHandle, toDisk = false): ResultsFile {
  return {
    isStandardOutput: false,
    async write(text) {
      await handle.appendFile(text); // unlike `write`, it continues until all is written
      if (toDisk) await handle.datasync();
    },
    close: () => handle.close(),
  };
}

/** Removes a file that was created but received no output. */
function removable(file: ResultsFile, path: string): ResultsFile {
  let isNeeded = false;
  return {
    ...file,
    write(text) {
      isNeeded = true;
      return file.write(text);
    },
    async close() {
      await file.close();
      if (!isNeeded) await unlink(path);
    },
  };
}

function openToWrite(path: string): Promise<FileHandle> {
  return open(path, constants.O_WRONLY);
}

/** @param freed Bytes that overwriting frees. */
async function requireRoom({ path, bytes = 0 }: ResultsFileOptions, freed: number): Promise<void> {
  const { blocks, bsize, bfree, bavail } = await statfs(path);
  if (blocks === 0) return; // some file systems do not report free space
  const left = (process.getuid?.() === 0 ? bfree : bavail) * bsize + freed;
  if (left >= bytes) return;
  throw usageError(
    `${path}: at least ${megabytes(bytes)} are needed, and ${megabytes(left)} are free. Nothing was done.`,
  );
}

function isStandardOutput({ dev, ino }: Stats): boolean {
  try {
    const out = fstatSync(1);
    return out.dev === dev && out.ino === ino;
  } catch {
    return false; // the file is closed
  }
}

function kindOf(found: Stats): string {
  if (found.isDirectory()) return 'a directory';
  return found.isSocket() ? 'a socket' : 'not a file, pipe or terminal';
}

export function fileExists(path: string): Error {
  return usageError(`${path} exists. Give another file with --out, or overwrite it with --force.`);
}

/** Converts an error of the operating system to a usage error: nothing has been done yet. */
function systemErrorIn(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'syscall' in error && 'code' in error)) return error;
  if (error.code === 'EEXIST') return fileExists(path);
  return usageError(`${path} cannot be written (${error.code}). Give another file with --out.`);
}
