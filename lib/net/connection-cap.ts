// Limits the open connections of one client to a port.
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { clientKey } from './client-key.ts';
import { throttle } from './throttle.ts';

export type ConnectionCapOptions = {
  /** Connections per client (IPv4 address or IPv6 /64 network); 0: unlimited. */
  readonly perClient: number;
  /** Whether an address belongs to a proxy, which stands for many clients. */
  readonly isExempt?: (address: string) => boolean;
  /** Called, throttled, when connections are refused. */
  readonly logger: Logger;
};

/** Counts a connection until it closes. Returns by how many its client exceeds the cap, 0 if within. */
export type ConnectionCap = (socket: Socket) => number;

/** Maximum of all clients, idle connections included. The server closes further ones at once. */
export const MAX_CONNECTIONS = 10_000;

const QUIET_MS = 60_000;

export function createConnectionCap(options: ConnectionCapOptions): ConnectionCap {
  const { perClient, isExempt = () => false, logger } = options;
  const open = new Map<string, number>();
  const warn = throttle(QUIET_MS, (client: string) => {
    logger.warn({ client, cap: perClient }, 'connections beyond HUB_CONNECTIONS_PER_CLIENT are refused');
  });
  return (socket) => {
    const { remoteAddress = '' } = socket;
    if (perClient === 0 || isExempt(remoteAddress)) return 0;
    const client = clientKey(remoteAddress);
    const count = (open.get(client) ?? 0) + 1;
    open.set(client, count);
    socket.once('close', () => {
      const left = (open.get(client) ?? 0) - 1;
      if (left > 0) open.set(client, left);
      else open.delete(client);
    });
    if (count > perClient) warn(client);
    return Math.max(0, count - perClient);
  };
}
