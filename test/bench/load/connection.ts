// A keep-alive connection of the load generator. It writes and reads HTTP/1.1 itself, which costs almost no
// CPU time.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout } from 'node:timers/promises';

export type Connection = {
  /**
   * Sends a complete request. `answered` receives the status after the complete response. One request at a
   * time.
   */
  send(request: string, answered: (status: number) => void): void;
  close(): void;
};

const HEAD_END = '\r\n\r\n';
const CONTENT_LENGTH = /\r\ncontent-length: *(\d+)/i;

/** Wait for each connection: the server needs time to accept many at once, and requests wait meanwhile. */
const TAKEN_IN_MS = 1;

/** Opens the connections and gives the server time to accept them, which a measurement must not include. */
export async function openConnections(
  count: number,
  port: number,
  lost: (error: Error) => void,
): Promise<Connection[]> {
  const open = await Promise.all(Array.from({ length: count }, () => openConnection(port, lost)));
  await setTimeout(count * TAKEN_IN_MS);
  return open;
}

/**
 * Connects to a local port. `lost` receives the error if the server closes the connection or omits
 * Content-Length.
 */
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

/** Undefined until the response is complete. */
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
