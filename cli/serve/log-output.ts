// The destination of the log: standard output, or files that rotate by size. The hub keeps serving if neither
// accepts lines.
import { once } from 'node:events';
import { join, parse } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { DestinationStream } from 'pino';
import type { Settings } from './setting-table.ts';

type LogStream = NodeJS.WritableStream & { readonly writableLength: number };

export type LogOutput = DestinationStream & {
  /** Lines that were lost since the process started. */
  readonly lostLines: number;
  /** Whether the last attempt to write succeeded. */
  readonly isWritable: boolean;
  /** Resolves when the reader of standard output is gone. */
  readonly readerGone: Promise<void>;
  /** Writes the buffered lines, within a short time limit. */
  close(): Promise<void>;
};

/** The most bytes that a pipe writes atomically (POSIX: PIPE_BUF): several processes may share it. */
const PIPE_BYTES = 4_096;
/** The most bytes that wait for a slow or full destination; further lines are lost. */
const MAX_WAITING_BYTES = 8 * 1024 * 1024;
const CLOSE_MS = 1_000;

type Report = (message: string) => void;

/** Counts lost lines, and reports on standard error the first loss and the recovery. */
function createLossCount(report: Report) {
  let lostLines = 0;
  let lostBefore: number | undefined;
  return {
    lose(lines: number, reason: string): void {
      if (lostBefore === undefined) {
        lostBefore = lostLines;
        report(`hubctl: the log cannot be written, the hub keeps serving without it: ${reason}\n`);
      }
      lostLines += lines;
    },
    written(): void {
      if (lostBefore === undefined) return;
      report(`hubctl: the log can be written again, ${lostLines - lostBefore} lines were lost\n`);
      lostBefore = undefined;
    },
    get lostLines() {
      return lostLines;
    },
    get isWritable() {
      return lostBefore === undefined;
    },
  };
}

/**
 * Writes once per turn of the event loop, and the rest at exit: under load, a system call for each line costs
 * more than the line.
 */
export function logToStream(stream: LogStream, report: Report): LogOutput {
  const losses = createLossCount(report);
  const reader = Promise.withResolvers<void>();
  let lines: string[] = [];
  let bytes = 0;

  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') reader.resolve();
  });
  const flush = (): void => {
    const [count, text] = [lines.length, lines.join('')];
    lines = [];
    bytes = 0;
    if (count === 0) return;
    if (stream.writableLength > MAX_WAITING_BYTES) {
      losses.lose(count, 'its reader is too slow');
      return;
    }
    stream.write(text, (error) => (error ? losses.lose(count, error.message) : losses.written()));
  };
  process.on('exit', flush);

  return Object.assign(losses, {
    write(line: string) {
      const more = Buffer.byteLength(line);
      if (bytes + more > PIPE_BYTES) flush();
      if (lines.length === 0) setImmediate(flush);
      lines.push(line);
      bytes += more;
    },
    readerGone: reader.promise,
    async close() {
      flush();
      process.off('exit', flush);
    },
  });
}

export type LogFileOptions = {
  readonly path: string;
  /** Bytes after which a new file begins. */
  readonly maxBytes: number;
  /** Files to keep besides the current one. */
  readonly keep: number;
};

/**
 * Writes `hub.1.log`, `hub.2.log`, … for the path `hub.log`, a new file when one is full. Removes the oldest.
 * @throws Error if the first file cannot be opened
 */
export async function logToFile(
  { path, maxBytes, keep }: LogFileOptions,
  report: Report,
): Promise<LogOutput> {
  const { default: openRolling } = await import('pino-roll');
  const losses = createLossCount(report);
  const file = await openRolling({
    file: path,
    size: `${maxBytes}b`,
    limit: { count: keep, removeOtherLogFiles: true },
    maxLength: MAX_WAITING_BYTES,
    mode: 0o640,
    sync: false,
  });
  await once(file, 'ready').catch((error: Error) => {
    throw new Error(`HUB_LOG_FILE: cannot write to ${path}: ${error.message}`, { cause: error });
  });
  let reason = 'the disk is slower than the log';
  file.on('error', (error) => {
    reason = error.message; // the next line retries
    losses.lose(0, reason);
  });
  file.on('drop', () => losses.lose(1, reason));
  file.on('write', () => losses.written());
  return Object.assign(losses, {
    write: (line: string) => void file.write(line),
    readerGone: new Promise<void>(() => {}),
    async close() {
      const closed = new Promise<void>((resolve) => void file.once('close', () => resolve()));
      file.end();
      await Promise.race([closed, setTimeout(CLOSE_MS, undefined, { ref: false })]);
    },
  });
}

/**
 * The output that the settings ask for. `worker` is the number of this process if several write a log each.
 */
export async function openLogOutput(
  { logFile, logFileMegabytes, logFilesKept }: Settings,
  { stdout, stderr }: { readonly stdout: LogStream; readonly stderr: NodeJS.WritableStream },
  worker: number | undefined,
): Promise<LogOutput> {
  const report = (message: string): void => void stderr.write(message);
  if (logFile === undefined) return logToStream(stdout, report);
  const { dir, name, ext } = parse(logFile);
  const path = worker === undefined ? logFile : join(dir, `${name}-worker-${worker}${ext}`);
  return logToFile({ path, maxBytes: logFileMegabytes * 1024 * 1024, keep: logFilesKept }, report);
}
