// Files that hold secrets: read only where nobody but their owner can read them, or put another in their place.
//
// A file of root's may be readable by its group as well, as PostgreSQL has it for its keys: root chose who is in it. That
// is how others hand out secrets: Kubernetes for a pod with an fsGroup, systemd for LoadCredential=.
import { closeSync, fstatSync, openSync, readSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * The content of a file that holds secrets; a pipe will do as well. Links are followed, and judged by where they lead.
 *
 * @param what How errors call the file: `master key file`.
 * @throws Error with the path, its mode and the command that mends it, if other users can read or change the file, or
 *   replace it in its directory; the error of the system (ENOENT, EACCES) if it cannot be opened.
 */
export function readSecretFile(path: string, what: string): string {
  const file = openSync(path, 'r');
  try {
    const about = fstatSync(file); // of what was opened, not of what has the name by now
    if (!about.isFile() && !about.isFIFO()) throw new Error(`${what} ${path} is not a file`);
    if (about.isFile()) requirePrivate(path, what, about);
    return readBounded(file, `${what} ${path}`);
  } finally {
    closeSync(file);
  }
}

/** Far more than any secret has. A pipe, or a file that was named by mistake, may not end. */
export const MOST_SECRET_BYTES = 1024 * 1024;

function readBounded(file: number, what: string): string {
  const chunks: Buffer[] = [];
  let size = 0;
  for (;;) {
    const chunk = Buffer.alloc(64 * 1024);
    const read = readSync(file, chunk);
    if (read === 0) return Buffer.concat(chunks).toString();
    chunks.push(chunk.subarray(0, read));
    size += read;
    if (size > MOST_SECRET_BYTES)
      throw new Error(`${what} is too large for a secret: it has more than 1 MiB`);
  }
}

function requirePrivate(path: string, what: string, about: Stats): void {
  const self = process.geteuid?.();
  if (self === undefined) return; // no such modes on this system
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

/** Whoever can write to the directory can put a file of his own there. In a sticky one (`/tmp`) only the owner can. */
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

/** One word of a shell's line, whatever is in it. */
export function shellQuote(word: string): string {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
