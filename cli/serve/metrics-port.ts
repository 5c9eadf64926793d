// The internal port of a separate gateway: it serves /metrics only.
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import type { Logger } from 'pino';
import { accessRule } from '../../core/access/authorize.ts';
import { createMetricsAuth } from '../../core/access/metrics-auth.ts';
import { roleName } from '../../core/access/roles.ts';
import { createMetricsEndpoint, withMetrics } from '../../core/rpc/endpoints/metrics-endpoint.ts';
import { createListener, listen, urlOf } from '../../core/rpc/server/listener.ts';
import { openTls } from '../../core/rpc/server/tls.ts';
import { AccessService } from '../../gen/hub/access/v1/access_service_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import type { Family } from '../../lib/metrics/family.ts';
import type { Settings } from './setting-table.ts';

export type MetricsPortOptions = {
  readonly collect: () => Promise<Family[]>;
  /** The core, which knows the tokens; its own tokens without one. */
  readonly core: Transport;
  readonly logger: Logger;
};

/** At HUB_RPC_HOST and HUB_RPC_PORT, with the certificate of the RPC port if there is one. */
export async function openMetricsPort(
  { rpcHost, rpcPort, rpcTlsCert: cert, rpcTlsKey: key }: Settings,
  { collect, core, logger }: MetricsPortOptions,
) {
  const tls = cert && key ? await openTls({ cert, key, clientCa: undefined }, logger) : undefined;
  const endpoint = createMetricsEndpoint({ collect, admit: askingCore(core), logger });
  const listener = createListener(
    withMetrics((_request, response) => {
      response.statusCode = 404;
      response.end();
    }, endpoint),
    { tls },
  );
  await listen(listener.server, rpcPort, rpcHost, '--rpc-port or HUB_RPC_PORT');
  return {
    url: urlOf(listener.server, tls ? 'https' : 'http'),
    reload: async () => tls?.reload(),
    async close(graceMs: number): Promise<void> {
      tls?.close();
      await listener.close(graceMs);
    },
  };
}

/** A gateway keeps no tokens: the core authorizes them. */
function askingCore(core: Transport) {
  const access = createClient(AccessService, core);
  return createMetricsAuth(async (header) => {
    const authorization = header.get('authorization');
    if (authorization === null) {
      throw new ConnectError('send a service token as "Authorization: Bearer <token>"', Code.Unauthenticated);
    }
    const { role, apps, slots } = await access.getCaller({}, { headers: { authorization } });
    const name = roleName(role);
    const { roles } = accessRule(MetricsService.method.readMetrics);
    if (name !== undefined && roles.has(name) && apps.length + slots.length === 0) return;
    throw new ConnectError('this token may not read metrics', Code.PermissionDenied);
  });
}
