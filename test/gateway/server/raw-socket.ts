// Speaks to a server byte by byte, for requests that no HTTP client would send.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export type RawAnswer = { status: number; headers: { [name: string]: string }; body: string };

export type RawConnection = {
  socket: Socket;
  /** All that the server has sent so far. */
  received(): string;
  /** The answers, once the server has closed the connection. */
  closed(): Promise<RawAnswer[]>;
};

export async function openRaw(port: number): Promise<RawConnection> {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.on('error', () => {}); // a reset ends the connection as well as a close
  const ended = once(socket, 'close');
  await once(socket, 'connect');
  return {
    socket,
    received: () => text,
    closed: async () => {
      await ended;
      return parseAnswers(text);
    },
  };
}

/** Sends `text` unchanged, and returns the response until the server closes the connection. */
export async function sendRaw(port: number, text: string | Uint8Array): Promise<RawAnswer[]> {
  const connection = await openRaw(port);
  connection.socket.write(text);
  return connection.closed();
}

/** Splits responses that have a Content-Length or no body. */
function parseAnswers(text: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = text;
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n');
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 2),
      ]),
    );
    const bodyEnd = end + 4 + Number(headers['content-length'] ?? 0);
    answers.push({ status: Number(statusLine.split(' ')[1]), headers, body: rest.slice(end + 4, bodyEnd) });
    rest = rest.slice(bodyEnd);
  }
  return answers;
}
