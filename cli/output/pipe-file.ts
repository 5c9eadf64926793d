// The file of the results of a command, if it is a named pipe or standard output.
import { constants, open } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { usageError } from '../errors/failure.ts';
import type { Interruption } from '../interrupt/interruption.ts';

/** A file, pipe or standard output that receives the results of a command. */
export type ResultsFile = {
  /** True if standard output goes to the same file: print nothing else there. */
  readonly isStandardOutput: boolean;
  /** Appends a text. Resolves once the operating system has all of it, or the disk if it is `secret`. */
  write(text: string): Promise<void>;
  /** Closes the file. Removes a created file that contains only the `head`. */
  close(): Promise<void>;
};

/** Time limit for a reader to open the pipe. */
const READER_MS = 60_000;
const LOOK_EVERY_MS = 50;

/**
 * Opens a named pipe once it has a reader. A blocking open would hang a thread that no signal can stop.
 * @throws CliError (usage) if no reader opens it, (interrupted) at a signal
 */
export async function openPipe(
  path: string,
  { signal, error: interrupted }: Pick<Interruption, 'signal' | 'error'>,
): Promise<Writable> {
  const latest = performance.now() + READER_MS;
  for (;;) {
    const fd = await promisify(open)(path, constants.O_WRONLY | constants.O_NONBLOCK).catch((error) => {
      if (error.code !== 'ENXIO') throw error;
    });
    if (fd !== undefined) return new Socket({ fd, readable: false, writable: true });
    if (signal.aborted) throw interrupted('Nothing was done.');
    if (performance.now() > latest)
      throw usageError(`${path} is a pipe without a reader. Start the reading program first.`);
    await setTimeout(LOOK_EVERY_MS);
  }
}

/** A stream cannot be truncated. */
export function throughStream(stream: Writable, isStandardOutput: boolean): ResultsFile {
  stream.on('error', () => {}); // each write reports its own error
  return {
    isStandardOutput,
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => (error ? reject(error) : resolve()));
      }),
    async close() {
      if (isStandardOutput || stream.destroyed) return;
      stream.end();
      await finished(stream).catch(() => {}); // each write has already reported its error
    },
  };
}
