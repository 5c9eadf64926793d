// What a running hub writes into its data directory, so that hubctl finds it.
import { resolve } from 'node:path';
import type { HubFile } from '../core/storage/data-dir.ts';
import type { Settings } from './settings.ts';

export type Addresses = {
  /** Undefined in the role gateway. */
  readonly rpc: string | undefined;
  /** Undefined in the role core. */
  readonly gateway: string | undefined;
  /** Of the role gateway alone: the others tell their metrics on the RPC port. */
  readonly metrics: string | undefined;
};

/** The announcement of this process. */
export function hubFile({ rpcTlsCert }: Settings, { rpc, gateway }: Omit<Addresses, 'metrics'>): HubFile {
  return {
    pid: process.pid,
    ...(rpc && { rpc }),
    ...(rpcTlsCert && { rpcCertificate: resolve(rpcTlsCert) }),
    ...(gateway && { gateway }),
  };
}
