// The standard streams of a command.
import type { Readable, Writable } from 'node:stream';

export type Streams = {
  readonly stdin: Readable & { isTTY?: boolean };
  readonly stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  readonly stderr: Writable & { isTTY?: boolean; columns?: number };
};
