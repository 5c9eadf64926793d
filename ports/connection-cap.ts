// How many connections one client may hold open at a port, so that none of them takes all there are.
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { clientKey } from './client-key.ts';
import { nowAndThen } from './now-and-then.ts';

export type ConnectionCapOptions = {
  /** Connections of a client, which is an address or an IPv6 network; 0: as many as it likes. */
  readonly perClient: number;
  /** Addresses that stand for many clients: proxies. */
  readonly isExempt?: (address: string) => boolean;
  /** Told now and then that connections are refused. */
  readonly logger: Logger;
};

/** Counts a connection until it is closed; returns how many its client has beyond the cap, 0 if it stays within. */
export type ConnectionCap = (socket: Socket) => number;

/** Idle connections included, over all clients. More are closed as they come. */
export const MAX_CONNECTIONS = 10_000;

const QUIET_MS = 60_000;

export function createConnectionCap(options: ConnectionCapOptions): ConnectionCap {
  const { perClient, isExempt = () => false, logger } = options;
  const open = new Map<string, number>();
  const warn = nowAndThen(QUIET_MS, (client: string) => {
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
