// Servers on loopback that webhooks are sent to, or must not reach.
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, type LookupFunction, type Server, type Socket } from 'node:net';
import type { AddressPolicy } from '../../../../core/event/delivery/address-policy.ts';

export type Target = {
  readonly port: number;
  /** All connections so far. */
  readonly connections: Socket[];
  close(): Promise<void>;
};

/** Accepts TCP connections and hands each to `accept`, which may write anything. By default it is silent. */
export function startTarget(
  accept: (socket: Socket) => void = () => {},
  { port = 0, address = '127.0.0.1' } = {},
): Promise<Target> {
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume();
    accept(socket);
  });
  return listen(server, port, address);
}

/** Counts the connections of a server that does not listen yet, and lets it listen. */
export async function listen(server: Server, port = 0, address = '127.0.0.1'): Promise<Target> {
  const connections: Socket[] = [];
  server.on('connection', (socket) => connections.push(socket));
  server.listen(port, address);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port, // it listens on TCP
    connections,
    async close() {
      for (const socket of connections) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The policy, and beyond it no connection to other machines: not even if a test finds a hole. */
export function onThisMachine(policy: AddressPolicy): AddressPolicy {
  const fault = (address: string): string | undefined =>
    LOCAL.test(address) ? undefined : 'is on another machine, and the policy accepts it';
  const stay =
    (lookup: LookupFunction): LookupFunction =>
    (name, options, callback) =>
      lookup(name, options, (error, found: string | LookupAddress[], family) => {
        const addresses = typeof found === 'string' ? [found] : found.map(({ address }) => address);
        const problem = error ? undefined : addresses.map(fault).find((each) => each !== undefined);
        if (problem === undefined) callback(error, found, family);
        else callback(new Error(`${name} ${problem}`), []);
      });
  return {
    checkUrl: policy.checkUrl,
    checkAddress: (address, scheme) => policy.checkAddress(address, scheme) ?? fault(address),
    lookups: { 'https:': stay(policy.lookups['https:']), 'http:': stay(policy.lookups['http:']) },
  };
}

const LOCAL = /^(127\.[\d.]+|0\.0\.0\.0|::1?|::ffff:(127\.[\d.]+|7f00:1))$/;
