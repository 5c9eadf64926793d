// The file in the data directory by which hubctl finds a running hub.
import { resolve } from 'node:path';
import type { HubFile } from '../../core/storage/data-dir.ts';
import { processPlace, processStart } from '../../lib/process-place.ts';
import type { Settings } from './setting-table.ts';

export type Addresses = {
  /** Undefined in the role gateway. */
  readonly rpc: string | undefined;
  /** Undefined in the role core. */
  readonly gateway: string | undefined;
  /** Only in the role gateway: the other roles serve metrics on the RPC port. */
  readonly metrics: string | undefined;
};

export function hubFile({ rpcTlsCert }: Settings, { rpc, gateway }: Omit<Addresses, 'metrics'>): HubFile {
  const started = processStart(process.pid);
  return {
    pid: process.pid,
    place: processPlace(),
    ...(started && { started }),
    ...(rpc && { rpc }),
    ...(rpcTlsCert && { rpcCertificate: resolve(rpcTlsCert) }),
    ...(gateway && { gateway }),
  };
}
