// Two hubs on a primary with a synchronous standby. A proxy always leads to the primary.
import { setTimeout as pause } from 'node:timers/promises';
import { startTcpProxy, type TcpProxy } from '../../support/network/tcp-proxy.ts';
import { startCluster } from './cluster.ts';
import { type PostgresServer, type Standby, startServer } from './postgres-server.ts';
import type { Fault, Scene, Stage } from './scene.ts';

type FailoverStage = Stage & {
  readonly primary: PostgresServer;
  readonly standby: Standby;
  /** The database address of the hubs. */
  readonly address: TcpProxy;
};

const FAILOVER: Fault<FailoverStage> = {
  name: 'postgres-failover',
  what: '`kill -9` of the primary; its address leads to the standby, which is promoted after a while',
  outage: 'database',
  async strike({ primary, standby, address }, ms) {
    await primary.kill();
    address.leadTo(standby.url);
    await pause(ms);
    await standby.promote();
  },
};

export const FAILOVER_SCENE: Scene<FailoverStage> = {
  needs: 'Linux',
  faults: [FAILOVER],
  open: process.platform === 'linux' ? openFailover : async () => undefined,
};

async function openFailover(): Promise<FailoverStage> {
  await using undo = new AsyncDisposableStack();
  const primary = await startServer();
  undo.defer(() => primary.discard());
  const standby = await primary.follow();
  undo.defer(() => standby.discard());
  const address = await startTcpProxy(primary.url);
  undo.defer(() => address.down());
  const cluster = await startCluster({ hubs: 2, databaseUrl: address.url });
  undo.defer(() => cluster.stop());
  const resources = undo.move();
  return { cluster, primary, standby, address, close: () => resources.disposeAsync() };
}
