// The one RPC port speaks to the clients that exist: curl, buf curl, connect-node.
import { readFile } from 'node:fs/promises';
import { type Client, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { expect } from 'chai';
import { Role } from '../../../../gen/hub/access/v1/access_pb.ts';
import { AccessService } from '../../../../gen/hub/access/v1/access_service_pb.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { BUF, run } from './run-command.ts';

const GET_CALLER = 'hub.access.v1.AccessService/GetCaller';

describe('the RPC port', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  describe('with curl', () => {
    const curl = (...args: string[]) => run('curl', ['--silent', '--show-error', '--max-time', '5', ...args]);
    const post = (path: string, body: string, ...more: string[]) =>
      curl('-H', 'content-type: application/json', '-d', body, ...more, `${hub.rpcUrl}/${path}`);
    const authorized = () => ['-H', `authorization: Bearer ${hub.token}`];

    it('answers Connect JSON over HTTP/1.1', async () => {
      const { stdout } = await post(GET_CALLER, '{}', '--http1.1', ...authorized());
      expect(JSON.parse(stdout)).to.include({ name: 'local admin', role: 'ROLE_ADMIN' });
    });

    it('returns the same over HTTP/2 with prior knowledge', async () => {
      const { stdout } = await post(GET_CALLER, '{}', '--http2-prior-knowledge', ...authorized());
      expect(JSON.parse(stdout)).to.include({ name: 'local admin', role: 'ROLE_ADMIN' });
    });

    it('returns an error with its HTTP status, code and typed detail', async () => {
      const { stdout } = await post(
        'hub.license.v1.LicenseAdminService/GetApp',
        '{"app":"none"}',
        '-w',
        '\n%{http_code}',
        ...authorized(),
      );
      const [body = '', status] = stdout.split('\n');
      const { code, details } = JSON.parse(body);
      expect([status, code]).to.deep.equal(['404', 'not_found']);
      expect(details[0]).to.deep.include({
        type: 'hub.error.v1.ErrorDetail',
        debug: { code: 'app_unknown', field: 'app' },
      });
    });

    it('answers health checks without a token, and all other calls with 401', async () => {
      const health = await post('grpc.health.v1.Health/Check', '{}');
      expect(JSON.parse(health.stdout)).to.deep.equal({ status: 'SERVING' });
      const refused = await post(GET_CALLER, '{}', '-w', '\n%{http_code}');
      expect(refused.stdout).to.match(/"code":"unauthenticated".*\n401$/);
    });

    it('returns the right HTTP status for an unknown path, media type or method', async () => {
      const status = async (...args: string[]) =>
        (await curl(...args, '-o', '/dev/null', '-w', '%{http_code}')).stdout;
      expect(await status('-d', '{}', `${hub.rpcUrl}/hub.access.v1.AccessService/Nothing`)).to.equal('404');
      expect(await status('-d', 'a=b', `${hub.rpcUrl}/${GET_CALLER}`)).to.equal('415');
      expect(await status(`${hub.rpcUrl}/${GET_CALLER}`)).to.equal('405');
    });
  });

  describe('with buf curl', () => {
    const bufCurl = (...args: string[]) => run(BUF, ['curl', ...args]);
    const authorization = () => `authorization: Bearer ${hub.token}`;

    for (const protocol of ['grpc', 'grpcweb', 'connect']) {
      it(`answers ${protocol}, with the schema from its files`, async () => {
        const { stdout, stderr } = await bufCurl(
          ...['--protocol', protocol, '--schema', 'proto', '-H', authorization(), '-d', '{}'],
          `${hub.rpcUrl}/${GET_CALLER}`,
        );
        expect(stderr).to.equal('');
        expect(JSON.parse(stdout)).to.include({ name: 'local admin', role: 'ROLE_ADMIN' });
      });

      it(`answers ${protocol}, with the schema by reflection`, async () => {
        const { stdout, stderr } = await bufCurl(
          ...[
            '--protocol',
            protocol,
            '--reflect',
            '--reflect-header',
            authorization(),
            '-H',
            authorization(),
          ],
          ...['-d', '{}', `${hub.rpcUrl}/${GET_CALLER}`],
        );
        expect(stderr).to.equal('');
        expect(JSON.parse(stdout)).to.include({ name: 'local admin', role: 'ROLE_ADMIN' });
      });
    }

    for (const reflection of ['grpc-v1', 'grpc-v1alpha']) {
      it(`lists the services by ${reflection} only with a token`, async () => {
        const list = ['--reflect-protocol', reflection, '--list-services'];
        const { stdout } = await bufCurl(...list, '--reflect-header', authorization(), hub.rpcUrl);
        expect(stdout.trim().split('\n')).to.include.members([
          'hub.license.v1.LicenseService',
          'grpc.health.v1.Health',
          'grpc.reflection.v1.ServerReflection',
        ]);
        const refused = await bufCurl(...list, hub.rpcUrl);
        expect(refused.code).to.not.equal(0);
        expect(refused.stderr).to.match(/not authenticated/);
      });
    }

    it('describes error details by reflection', async () => {
      const { stderr } = await bufCurl(
        ...[
          '--reflect',
          '--reflect-header',
          authorization(),
          '-H',
          authorization(),
          '-d',
          '{"slug":"Not A Slug"}',
        ],
        `${hub.rpcUrl}/hub.license.v1.LicenseAdminService/CreateApp`,
      );
      expect(stderr).to.include('"fieldName": "slug"');
    });
  });

  describe('with connect-node', () => {
    const authorize: Interceptor = (next) => (request) => {
      request.header.set('authorization', `Bearer ${hub.token}`);
      return next(request);
    };
    const transports: Record<string, () => Transport> = {
      'Connect binary over HTTP/1.1': () => createConnectTransport({ ...base('1.1'), useBinaryFormat: true }),
      'Connect JSON over HTTP/2': () => createConnectTransport({ ...base('2'), useBinaryFormat: false }),
      'gRPC over HTTP/2': () => createGrpcTransport(base('2')),
      'gRPC-Web over HTTP/1.1': () => createGrpcWebTransport(base('1.1')),
      'gRPC-Web over HTTP/2': () => createGrpcWebTransport(base('2')),
    };
    const base = <V extends '1.1' | '2'>(httpVersion: V) => ({
      baseUrl: hub.rpcUrl,
      httpVersion,
      interceptors: [authorize],
    });

    for (const [name, transport] of Object.entries(transports)) {
      it(`answers ${name}`, async () => {
        const access: Client<typeof AccessService> = createClient(AccessService, transport());
        expect(await access.getCaller({})).to.deep.include({ name: 'local admin', role: Role.ADMIN });
      });
    }
  });

  it('reports the version of the package', async () => {
    const { version } = JSON.parse(
      await readFile(new URL('../../../../package.json', import.meta.url), 'utf8'),
    );
    const { hubVersion } = await createClient(AccessService, hub.transport).getCaller({});
    expect(hubVersion).to.equal(version);
  });
});
