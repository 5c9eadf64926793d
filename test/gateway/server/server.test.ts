// What the gateway does by itself: paths and methods, health, the log, clients that leave.
import { Code, ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import type { GatewayOptions } from '../../../gateway/server/server.ts';
import { HealthCheckResponse_ServingStatus } from '../../../gen/grpc/health/v1/health_pb.ts';
import { until } from '../../support/until.ts';
import { type FakeCore, objectIn, startGateway, type TestGateway } from '../fake-core.ts';

const REQUEST = { licenseKey: 'KEY-1', machineFingerprint: 'fp-1' };

describe('the gateway', () => {
  let gateway: TestGateway;
  const start = async (core: FakeCore = {}, options: Partial<GatewayOptions> = {}): Promise<void> => {
    gateway = await startGateway(options, core);
  };
  afterEach(() => gateway.close(0));

  describe('for paths and methods', () => {
    it('returns 404 for unknown paths', async () => {
      await start();
      for (const path of [
        '/',
        '/v1',
        '/v1/activate/',
        '/v2/activate',
        '/v1/status',
        '/v1/status/x/',
        '/healthz/',
      ]) {
        const response = await gateway.get(path);
        expect(response.status, path).to.equal(404);
        expect((await objectIn(response)).code, path).to.equal('not_found');
      }
    });

    it('returns 405 with Allow for other methods', async () => {
      await start();
      const cases = [
        ['GET', '/v1/activate', 'POST'],
        ['HEAD', '/v1/deactivate', 'POST'],
        ['OPTIONS', '/v1/activate', 'POST'],
        ['POST', '/v1/status/x', 'GET, HEAD'],
        ['DELETE', '/v1/apps/demo/public-key', 'GET, HEAD'],
        ['OPTIONS', '/healthz', 'GET, HEAD'],
      ] as const;
      for (const [method, path, allow] of cases) {
        const response = await gateway.get(path, { method });
        expect(response.status, `${method} ${path}`).to.equal(405);
        expect(response.headers.get('allow'), `${method} ${path}`).to.equal(allow);
        await response.text();
      }
    });
  });

  describe('for health checks', () => {
    it('reports liveness while the process is up, whatever the state of the core', async () => {
      await start({
        check: () => {
          throw new ConnectError('down', Code.Unavailable);
        },
      });
      const response = await gateway.get('/healthz');
      expect(response.status).to.equal(200);
      expect(await response.text()).to.equal('{"ok":true}');
    });

    it('reports the readiness of the core', async () => {
      await start();
      expect((await gateway.get('/readyz')).status).to.equal(200);
      await gateway.close(0);
      for (const check of [
        () => ({ status: HealthCheckResponse_ServingStatus.NOT_SERVING }),
        () => {
          throw new ConnectError('down', Code.Unimplemented);
        },
      ]) {
        await start({ check });
        const response = await gateway.get('/readyz');
        expect(response.status).to.equal(503);
        expect((await objectIn(response)).code).to.equal('unavailable');
        await gateway.close(0);
      }
    });

    it('calls the core once for concurrent checks, and logs no stack for each', async () => {
      const { promise: held, reject: fail } = Promise.withResolvers<never>();
      let asked = 0;
      await start({
        check: () => {
          asked += 1;
          return held;
        },
      });
      const answers = Array.from({ length: 50 }, () => gateway.get('/readyz'));
      await until(async () => (await gateway.connections()) === 50, 'all have asked');
      expect((await gateway.get('/healthz')).status).to.equal(200);
      fail(new ConnectError('the database is away', Code.Unavailable));
      const statuses = (await Promise.all(answers)).map(({ status }) => status);
      expect(new Set(statuses)).to.deep.equal(new Set([503]));
      expect(asked).to.equal(1);
      const lines = gateway.logs.filter(({ status }) => status === 503);
      expect(lines).to.have.length(50);
      for (const line of lines) {
        expect(line['reason']).to.contain('the database is away');
        expect(line).not.to.have.property('err');
      }
    });
  });

  describe('in the log', () => {
    it('writes one line per request, with its pattern and without its secrets', async () => {
      await start();
      await gateway.post('/v1/activate', { licenseKey: 'SECRET-KEY', machineFingerprint: 'SECRET-FP' });
      await gateway.get('/v1/status/lic_SECRET?fp=SECRET-FP');
      await gateway.get('/SECRET');
      const lines = gateway.logs.filter(({ msg }) => msg === 'request');
      expect(lines.map(({ method, route, status }) => [method, route, status])).to.deep.equal([
        ['POST', '/v1/activate', 200],
        ['GET', '/v1/status/{licenseId}', 200],
        ['GET', null, 404],
      ]);
      for (const line of lines) expect(line).to.include.all.keys('requestId', 'ms', 'ip');
      expect(JSON.stringify(gateway.logs)).not.to.contain('SECRET');
    });

    it('writes no error for a client that disconnects, and aborts a read', async () => {
      let aborted = false;
      let asked = false;
      await start({
        checkStatus: (_request, { signal }) =>
          new Promise((_resolve, reject) => {
            asked = true;
            signal.addEventListener('abort', () => {
              aborted = true;
              reject(signal.reason);
            });
          }),
      });
      const leave = new AbortController();
      const left = gateway.get('/v1/status/x', { signal: leave.signal }).catch(() => 'left');
      await until(() => asked, 'the core receives the call');
      leave.abort();
      expect(await left).to.equal('left');
      await until(() => aborted && gateway.logs.length > 0, 'the read is aborted and logged');
      expect(gateway.logs.map(({ level, status }) => [level, status])).to.deep.equal([[30, 499]]);
    });

    it('writes no error for a client that disconnects, and finishes a read if required', async () => {
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      let asked = false;
      let outcome = 'open';
      const checkStatus: FakeCore['checkStatus'] = async (_request, { signal }) => {
        asked = true;
        await held;
        outcome = signal.aborted ? 'aborted' : 'done';
        return {};
      };
      await start({ checkStatus }, { abandonsReads: false });
      const leave = new AbortController();
      const left = gateway.get('/v1/status/x', { signal: leave.signal }).catch(() => 'left');
      await until(() => asked, 'the core receives the call');
      leave.abort();
      expect(await left).to.equal('left');
      await until(async () => (await gateway.connections()) === 0, 'the server sees it');
      release();
      await until(() => gateway.logs.length > 0, 'the request is logged');
      expect(outcome).to.equal('done');
      expect(gateway.logs.map(({ level, status }) => [level, status])).to.deep.equal([[30, 499]]);
    });

    it('writes no error for a client that disconnects, and finishes an activation', async () => {
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      let asked = false;
      let outcome = 'open';
      await start({
        activate: async (_request, { signal }) => {
          asked = true;
          await held;
          outcome = signal.aborted ? 'aborted' : 'done';
          return { license: {}, publicKeyPem: 'PEM' };
        },
      });
      const leave = new AbortController();
      const left = gateway.post('/v1/activate', REQUEST, { signal: leave.signal }).catch(() => 'left');
      await until(() => asked, 'the core receives the call');
      leave.abort();
      expect(await left).to.equal('left');
      await until(async () => (await gateway.connections()) === 0, 'the server sees it');
      release();
      await until(() => gateway.logs.length > 0, 'the request is logged');
      expect(outcome).to.equal('done');
      expect(gateway.logs.map(({ level, status }) => [level, status])).to.deep.equal([[30, 499]]);
    });
  });
});
