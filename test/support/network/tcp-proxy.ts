// A TCP proxy that can stop, restart and change its target. It simulates a server outage for one client, or a
// virtual address.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';

export type TcpProxy = {
  /** The target's URL through the proxy. */
  readonly url: string;
  /** Cuts every connection and refuses new ones. */
  down(): Promise<void>;
  up(): Promise<void>;
  /** Cuts every connection, and directs new ones to this server. */
  leadTo(url: string): void;
  /**
   * Closes the next connection that sends this text after the target has processed it, instead of passing the
   * response on.
   */
  loseAnswerTo(text: string, onLost?: () => void): void;
  /** Cuts the next connection that sends this text, before or after the target has received it. */
  cutAt(text: string, options: { delivered: boolean }): void;
  /** Holds back the data of the next connection that sends this text, from that chunk on, until `release`. */
  holdBack(text: string): void;
  /** Whether the proxy holds back data. */
  holds(): boolean;
  release(): void;
  /** How often the target has received this text, if it was in one chunk each time. */
  sent(text: string): number;
};

export async function startTcpProxy(targetUrl: string): Promise<TcpProxy> {
  let target = new URL(targetUrl);
  const sockets = new Set<Socket>();
  let sent = '';
  let losing: { text: string; onLost: () => void } | undefined;
  let cutting: { text: string; delivered: boolean } | undefined;
  let holding: string | undefined;
  let release: (() => void) | undefined;
  const relay = (near: Socket): void => {
    const far = connect(Number(target.port), target.hostname);
    const gate = new PassThrough();
    near.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1');
      sent += text;
      if (holding !== undefined && text.includes(holding)) {
        holding = undefined;
        gate.unpipe(far);
        release = () => gate.pipe(far);
      }
      if (cutting !== undefined && text.includes(cutting.text)) {
        if (cutting.delivered) setImmediate(() => near.destroy());
        else far.destroy();
        cutting = undefined;
      }
      if (losing === undefined || !text.includes(losing.text)) return;
      const { onLost } = losing;
      losing = undefined;
      far.unpipe(near);
      far
        .once('data', () => {
          near.destroy();
          onLost();
        })
        .resume();
    });
    near.pipe(gate).pipe(far);
    far.pipe(near);
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      sockets.add(from);
      from.on('error', () => {}); // the close event handles it
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  };
  let server: Server | undefined;
  const listen = async (port: number): Promise<number> => {
    server = createServer(relay).listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port; // a TCP server has a port
  };
  const port = await listen(0);
  const url = new URL(targetUrl);
  url.port = String(port);
  return {
    url: url.href,
    async down() {
      const closed = new Promise((resolve) => server?.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    up: async () => {
      await listen(port);
    },
    loseAnswerTo(text, onLost = () => {}) {
      losing = { text, onLost };
    },
    cutAt(text, { delivered }) {
      cutting = { text, delivered };
    },
    holdBack(text) {
      holding = text;
    },
    holds: () => release !== undefined,
    release() {
      release?.();
      release = undefined;
    },
    sent: (text) => sent.split(text).length - 1,
    leadTo(otherUrl) {
      target = new URL(otherUrl);
      for (const socket of sockets) socket.destroy();
    },
  };
}
