// Joins the log lines of one moment into one write: under load a system call for each line costs more than the line.
import type { DestinationStream } from 'pino';

/** Up to so many bytes are written to a pipe as one (POSIX: PIPE_BUF): several processes may share it. */
const PIPE_BYTES = 4_096;

/** Writes at the end of the turn of the event loop, and whatever is left when the process exits. */
export function joinLines(stream: NodeJS.WritableStream): DestinationStream {
  let lines = '';
  let bytes = 0;
  const flush = (): void => {
    const joined = lines;
    lines = '';
    bytes = 0;
    if (joined !== '') stream.write(joined);
  };
  process.on('exit', flush);
  return {
    write(line) {
      const more = Buffer.byteLength(line);
      if (bytes + more > PIPE_BYTES) flush();
      if (lines === '') setImmediate(flush);
      lines += line;
      bytes += more;
    },
  };
}
