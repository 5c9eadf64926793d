// Authorization: every RPC by every kind of caller, compared with its access option.
import {
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  getOption,
  hasOption,
} from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import { expect } from 'chai';
import pg from 'pg';
import { registerServiceToken } from '../../../core/access/register-token.ts';
import { newServiceToken } from '../../../core/access/token-format.ts';
import { systemClock } from '../../../core/clock.ts';
import { ServerReflection } from '../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { access, Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { query } from '../../support/postgres/databases.ts';
import { contractServices } from './contract-services.ts';

const ROLES = {
  admin: Role.ADMIN,
  operator: Role.OPERATOR,
  service: Role.SERVICE,
  viewer: Role.VIEWER,
  monitor: Role.MONITOR,
  gateway: Role.GATEWAY,
} as const;
type RoleName = keyof typeof ROLES;
type Verdict = 'admitted' | 'unauthenticated' | 'permission denied';

const methods = (await contractServices()).flatMap((service) => service.methods);

describe('access', () => {
  let hub: TestHub;
  let pool: pg.Pool;
  let transport: Transport;
  let served: ReadonlySet<string>;
  const tokens = new Map<string, string>();

  before(async () => {
    hub = await startHub();
    pool = new pg.Pool({ connectionString: hub.databaseUrl, max: 1 });
    transport = createGrpcTransport({ baseUrl: hub.rpcUrl });
    served = await listServices();
    for (const role of roleNames()) tokens.set(role, await register(role));
    tokens.set('expired', await register('admin', `expires_at = now() - interval '1 second'`));
    tokens.set('revoked', await register('admin', 'revoked_at = now()'));
  });
  after(async () => {
    await pool.end();
    await hub.stop();
  });

  it("is defined for the hub's services and for standard ones", () => {
    expect([...served]).to.include.members([
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'hub.access.v1.AccessService',
      'hub.license.v1.LicenseAdminService',
      'hub.license.v1.LicenseService',
    ]);
  });

  for (const method of methods) {
    const { isPublic, admitted } = expectation(method);
    const who = isPublic ? 'anybody' : admitted.join(', ') || 'nobody';
    it(`to ${method.parent.typeName}/${method.name} is for ${who}`, async function () {
      if (!served.has(method.parent.typeName)) this.skip();
      for (const role of roleNames()) {
        const allowed = isPublic || admitted.includes(role);
        expect(await call(method, bearer(tokens.get(role))), role).to.equal(
          allowed ? 'admitted' : 'permission denied',
        );
      }
      const strangers: Record<string, string | undefined> = {
        'no token': undefined,
        'an empty header': '',
        'an unknown token': bearer(newServiceToken()),
        'no bearer token': `Basic ${tokens.get('admin')}`,
        'a token without its scheme': tokens.get('admin'),
        'two tokens': `${bearer(tokens.get('admin'))} ${tokens.get('admin')}`,
        'a token cut short': bearer(tokens.get('admin')?.slice(0, -1)),
        'an expired token': bearer(tokens.get('expired')),
        'a revoked token': bearer(tokens.get('revoked')),
      };
      for (const [name, header] of Object.entries(strangers)) {
        expect(await call(method, header), name).to.equal(isPublic ? 'admitted' : 'unauthenticated');
      }
    });
  }

  /** What the contract says of a method, read without the code under test. */
  function expectation(method: DescMethod): { isPublic: boolean; admitted: RoleName[] } {
    if (method.parent.typeName === 'grpc.health.v1.Health') return { isPublic: true, admitted: [] };
    if (method.parent.typeName.startsWith('grpc.reflection.'))
      return { isPublic: false, admitted: roleNames() };
    if (!hasOption(method, access)) return { isPublic: false, admitted: [] };
    const option = getOption(method, access);
    const admitted = roleNames().filter((name) => name === 'admin' || option.roles.includes(ROLES[name]));
    return { isPublic: option.public, admitted };
  }

  /** An empty request is refused by its rules, if by nothing else before: that counts as admitted. */
  async function call(method: DescMethod, authorization: string | undefined): Promise<Verdict> {
    const header = authorization === undefined ? undefined : { authorization };
    const left = new AbortController();
    try {
      if (isUnary(method)) await transport.unary(method, undefined, undefined, header, {});
      else {
        const { message } = await transport.stream(
          method as DescMethodStreaming,
          left.signal,
          undefined,
          header,
          once({}),
        ); // not unary
        await message[Symbol.asyncIterator]().next();
      }
      return 'admitted';
    } catch (error) {
      const { code, rawMessage } = ConnectError.from(error);
      if (code === Code.Unauthenticated) return 'unauthenticated';
      if (code === Code.PermissionDenied) return 'permission denied';
      if (code === Code.InvalidArgument || code === Code.NotFound) return 'admitted';
      throw new Error(`${method.name} is ${Code[code]}: ${rawMessage}`, { cause: error });
    } finally {
      left.abort();
    }
  }

  async function listServices(): Promise<ReadonlySet<string>> {
    const reflection = createClient(ServerReflection, transport);
    const request = { messageRequest: { case: 'listServices', value: '' } } as const;
    const headers = { authorization: bearer(hub.token) };
    for await (const { messageResponse } of reflection.serverReflectionInfo(once(request), { headers })) {
      if (messageResponse.case === 'listServicesResponse') {
        return new Set(messageResponse.value.service.map(({ name }) => name));
      }
    }
    throw new Error('the hub does not list its services');
  }

  async function register(role: RoleName, change?: string): Promise<string> {
    const token = newServiceToken();
    const name = `${role} ${change ?? ''}`;
    await registerServiceToken(pool, systemClock, token, { name, role });
    if (change) await query(hub.databaseUrl, `update service_token set ${change} where name = $1`, [name]);
    return token;
  }
});

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === 'unary';
}

function roleNames(): RoleName[] {
  return Object.keys(ROLES) as RoleName[]; // the keys of a literal
}

function bearer(token: string | undefined): string {
  if (token === undefined) throw new Error('a token is missing');
  return `Bearer ${token}`;
}

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}
