// One keep-alive connection of the load generator: HTTP/1.1 written and read by hand, so that it costs next to nothing.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export type Connection = {
  /** Sends a whole request; `answered` is told the status when the whole answer is there. One at a time. */
  send(request: string, answered: (status: number) => void): void;
  close(): void;
};

const HEAD_END = '\r\n\r\n';
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

/** For each connection: to take in many at once is work, and what is asked meanwhile waits for it. */
const TAKEN_IN_MS = 1;

/** So many, and time for the server to take them in: a load is not to begin with that. */
export async function openConnections(
  count: number,
  port: number,
  lost: (error: Error) => void,
): Promise<Connection[]> {
  const open = await Promise.all(Array.from({ length: count }, () => openConnection(port, lost)));
  await setTimeout(count * TAKEN_IN_MS);
  return open;
}

/** To a port of this machine. `lost` is told of a connection that the server ends, and of an answer without Content-Length. */
async function openConnection(port: number, lost: (error: Error) => void): Promise<Connection> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  await once(socket, 'connect');
  let waiting: ((status: number) => void) | undefined;
  let begun: Buffer | undefined;
  let closed = false;
  socket.on('data', (chunk: Buffer) => {
    const data = begun === undefined ? chunk : Buffer.concat([begun, chunk]);
    const status = statusOf(data, lost);
    begun = status === undefined ? data : undefined;
    if (status === undefined) return;
    const answered = waiting;
    waiting = undefined;
    answered?.(status);
  });
  socket.on('error', lost);
  socket.on('close', () => {
    if (!closed) lost(new Error(`port ${port} closed a connection during the benchmark`));
  });
  return {
    send(request, answered) {
      waiting = answered;
      socket.write(request, 'latin1');
    },
    close() {
      closed = true;
      socket.destroy();
    },
  };
}

/** Undefined as long as the answer is not complete. */
function statusOf(data: Buffer, lost: (error: Error) => void): number | undefined {
  const end = data.indexOf(HEAD_END);
  if (end === -1) return undefined;
  const head = data.toString('latin1', 0, end);
  const length = CONTENT_LENGTH.exec(head)?.[1];
  if (length === undefined) {
    lost(new Error(`an answer without Content-Length: ${head}`));
    return undefined;
  }
  if (data.length < end + HEAD_END.length + Number(length)) return undefined;
  return Number(head.slice(9, 12));
}
