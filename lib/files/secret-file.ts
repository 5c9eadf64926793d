// Reads files that hold secrets, and refuses those that other users can read or replace. A file of root may
// be readable by its group, as PostgreSQL allows for its keys: Kubernetes (fsGroup) and systemd
// (LoadCredential=) provide secrets that way.
import { closeSync, fstatSync, openSync, readSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Returns the content of a file or pipe that holds secrets. Symbolic links are followed; the target is
 * checked.
 * @param what name of the file in errors: `master key file`
 * @throws Error with the path, its mode and the command that fixes it, if other users can read, change or
 * replace the file; the system's error (ENOENT, EACCES) if it cannot be opened
 */
export function readSecretFile(path: string, what: string): string {
  const file = openSync(path, 'r');
  try {
    const about = fstatSync(file); // the opened file: its name may refer to another one by now
    if (!about.isFile() && !about.isFIFO()) throw new Error(`${what} ${path} is not a file`);
    if (about.isFile()) requirePrivate(path, what, about);
    return readBounded(file, `${what} ${path}`);
  } finally {
    closeSync(file);
  }
}

/** Larger than any secret. A pipe, or a file named by mistake, may be endless. */
export const MAX_SECRET_BYTES = 1024 * 1024;

function readBounded(file: number, what: string): string {
  const chunks: Buffer[] = [];
  let size = 0;
  for (;;) {
    const chunk = Buffer.alloc(64 * 1024);
    const read = readSync(file, chunk);
    if (read === 0) return Buffer.concat(chunks).toString();
    chunks.push(chunk.subarray(0, read));
    size += read;
    if (size > MAX_SECRET_BYTES) throw new Error(`${what} is too large for a secret: it has more than 1 MiB`);
  }
}

function requirePrivate(path: string, what: string, about: Stats): void {
  const self = process.geteuid?.();
  if (self === undefined) return; // no file modes on this system
  const mend = (command: string) => `Run: ${command} ${shellQuote(path)}`;
  if (about.uid !== self && about.uid !== 0) {
    throw new Error(
      `${what} ${path} belongs to user number ${about.uid}, who can read it. ${mend(`chown ${self}`)}`,
    );
  }
  const mode = about.uid === 0 && self !== 0 ? 0o640 : 0o600;
  if (about.mode & 0o077 & ~mode) {
    throw new Error(
      `${what} ${path} is open to other users (mode ${octal(about.mode)}). ${mend(`chmod ${mode.toString(8)}`)}`,
    );
  }
  for (const directory of new Set([dirname(resolve(path)), dirname(realpathSync(path))])) {
    requireUnchangeable(directory, `${what} ${path}`, self);
  }
}

/** A user who can write to the directory can replace the file, except in a sticky directory (`/tmp`). */
function requireUnchangeable(directory: string, what: string, self: number): void {
  const { mode, uid } = statSync(directory);
  const place = `the directory of ${what}`;
  if (uid !== self && uid !== 0) {
    throw new Error(`${place} belongs to user number ${uid}. Run: chown ${self} ${shellQuote(directory)}`);
  }
  if (mode & 0o022 && !(mode & 0o1000)) {
    throw new Error(
      `${place} can be changed by other users (mode ${octal(mode)}). Run: chmod go-w ${shellQuote(directory)}`,
    );
  }
}

/** Quotes a word for a POSIX shell. */
export function shellQuote(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
