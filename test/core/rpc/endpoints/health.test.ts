// The standard health service: its status, its callers, and the end of its streams.
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect } from 'chai';
import { createHealthService } from '../../../../core/rpc/endpoints/health.ts';
import { listen, urlOf } from '../../../../core/rpc/server/listener.ts';
import { createRpcListener } from '../../../../core/rpc/server/server.ts';
import { serve } from '../../../../core/service-implementation.ts';
import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../../../gen/grpc/health/v1/health_pb.ts';
import { AccessService } from '../../../../gen/hub/access/v1/access_service_pb.ts';
import { startHub } from '../../../support/hub/hub.ts';
import { startTcpProxy } from '../../../support/network/tcp-proxy.ts';
import { createMigratedDatabase } from '../../../support/postgres/databases.ts';

describe('health', () => {
  it('is reported for the hub and each of its services, without a token', async () => {
    const hub = await startHub();
    try {
      const health = createClient(Health, createGrpcTransport({ baseUrl: hub.rpcUrl }));
      expect((await health.check({})).status).to.equal(ServingStatus.SERVING);
      const { statuses } = await health.list({});
      expect(Object.keys(statuses)).to.include.members(['', 'hub.license.v1.LicenseService']);
      for (const service of Object.keys(statuses)) {
        expect((await health.check({ service })).status, service).to.equal(ServingStatus.SERVING);
      }
    } finally {
      await hub.stop();
    }
  });

  it('queries the database from time to time, for any number of callers on either port', async () => {
    const proxy = await startTcpProxy(await createMigratedDatabase());
    const hub = await startHub({ settings: { databaseUrl: proxy.url } });
    try {
      const health = createClient(Health, createGrpcTransport({ baseUrl: hub.rpcUrl }));
      const looks = (): number => proxy.sent('transaction_read_only');
      const before = looks();
      const startedAt = performance.now();
      for (let round = 0; round < 10; round += 1) {
        const flood = Array.from({ length: 20 }, () => [health.check({}), fetch(`${hub.gatewayUrl}/readyz`)]);
        await Promise.all(flood.flat());
      }
      // New connections of the pool are looked at once each, too.
      const halfSeconds = (performance.now() - startedAt) / 500;
      expect(looks() - before).to.be.within(1, 10 + 1 + halfSeconds);
    } finally {
      await hub.stop();
      await proxy.down();
    }
  });

  describe('of a server', () => {
    let ready: boolean;
    let listener: ReturnType<typeof createRpcListener>;
    let health: ReturnType<typeof connect>;
    const connect = () => createClient(Health, createGrpcTransport({ baseUrl: urlOf(listener.server) }));

    beforeEach(async () => {
      ready = true;
      const service = createHealthService({ services: [AccessService], isReady: async () => ready });
      listener = createRpcListener({ services: [serve(Health, service)], interceptors: [] });
      await listen(listener.server, 0, '127.0.0.1', 'a port');
      health = connect();
    });
    afterEach(() => listener.close(0));

    it('is NOT_SERVING while the server is not ready', async () => {
      ready = false;
      expect((await health.check({})).status).to.equal(ServingStatus.NOT_SERVING);
      expect((await health.list({})).statuses['']?.status).to.equal(ServingStatus.NOT_SERVING);
    });

    it('is not found for an unknown service', async () => {
      const failure = await health.check({ service: 'hub.Nothing' }).catch(ConnectError.from);
      expect(failure).to.be.instanceOf(ConnectError).with.property('code', Code.NotFound);
    });

    it('reports each change to a watcher, and SERVICE_UNKNOWN for an unknown service', async () => {
      const changes = health.watch({})[Symbol.asyncIterator]();
      expect((await changes.next()).value?.status).to.equal(ServingStatus.SERVING);
      ready = false;
      expect((await changes.next()).value?.status).to.equal(ServingStatus.NOT_SERVING);
      const unknown = health.watch({ service: 'hub.Nothing' })[Symbol.asyncIterator]();
      expect((await unknown.next()).value?.status).to.equal(ServingStatus.SERVICE_UNKNOWN);
    });

    it('does not prevent the server from closing while it is watched', async function () {
      this.timeout(30_000);
      const changes = health.watch({})[Symbol.asyncIterator]();
      await changes.next();
      const [end] = await Promise.all([changes.next(), listener.close(60_000)]);
      expect(end.done).to.equal(true);
    });
  });
});
