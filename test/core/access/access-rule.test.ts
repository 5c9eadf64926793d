// The interceptor on methods that the contract does not have.
import { create, createFileRegistry, type DescMethod, setExtension } from '@bufbuild/protobuf';
import {
  FileDescriptorProtoSchema,
  FileDescriptorSetSchema,
  type MethodOptions,
  MethodOptionsSchema,
} from '@bufbuild/protobuf/wkt';
import {
  Code,
  ConnectError,
  createContextValues,
  type Interceptor,
  type UnaryRequest,
} from '@connectrpc/connect';
import { expect } from 'chai';
import { createAuthenticate } from '../../../core/access/authenticate.ts';
import { createAuthorizeInterceptor } from '../../../core/access/authorize.ts';
import { type Caller, callerKey } from '../../../core/access/caller.ts';
import type { Scope } from '../../../core/access/entities.ts';
import type { FindCaller } from '../../../core/access/find-caller.ts';
import { systemClock } from '../../../core/clock.ts';
import { AccessSchema, access, Role } from '../../../gen/hub/access/v1/access_pb.ts';

const ROLE_NAMES = ['admin', 'operator', 'service', 'viewer', 'monitor', 'gateway'] as const;

describe('an RPC', () => {
  it('without an access option is refused for everybody, including admins', async () => {
    const method = makeMethod();
    for (const role of ROLE_NAMES) expect(await callAs(role, method), role).to.equal(Code.PermissionDenied);
    expect(await callAs(undefined, method)).to.equal(Code.Unauthenticated);
  });

  it('with an empty access option is for admins only', async () => {
    const method = makeMethod(create(AccessSchema));
    expect(await callAs('admin', method)).to.equal('called');
    expect(await callAs('operator', method)).to.equal(Code.PermissionDenied);
    expect(await callAs(undefined, method)).to.equal(Code.Unauthenticated);
  });

  it('for a role with an app requires a token that is limited to apps', async () => {
    const method = makeMethod(create(AccessSchema, { appScopedRoles: [Role.SERVICE] }));
    expect(await callAs('service', method)).to.equal(Code.PermissionDenied);
    expect(await callAs('service', method, { apps: [], slots: ['a'] })).to.equal(Code.PermissionDenied);
    expect(await callAs('service', method, { apps: ['a'], slots: [] })).to.equal('called');
    expect(await callAs('viewer', method, { apps: ['a'], slots: [] })).to.equal(Code.PermissionDenied);
  });

  it('that names the unspecified role allows nobody by it', async () => {
    const method = makeMethod(create(AccessSchema, { roles: [Role.UNSPECIFIED] }));
    expect(await callAs('viewer', method)).to.equal(Code.PermissionDenied);
  });

  it('that is public requires no token', async () => {
    expect(await callAs(undefined, makeMethod(create(AccessSchema, { public: true })))).to.equal('called');
  });

  it('identifies the caller by its token, in any spelling of the scheme', async () => {
    const method = makeMethod(create(AccessSchema, { roles: [Role.VIEWER] }));
    const asked: string[] = [];
    const authorize = authorizeBy(async (token) => {
      asked.push(token);
      return { name: 'reader', role: 'viewer' };
    });
    for (const header of ['Bearer hub_1', 'bearer  hub_1', 'BEARER hub_1']) {
      const request = requestFor(method, header);
      await run(authorize, request);
      expect(request.contextValues.get(callerKey), header).to.deep.equal({ name: 'reader', role: 'viewer' });
    }
    expect(asked).to.deep.equal(['hub_1', 'hub_1', 'hub_1']);
  });

  it('does not query the database for a malformed token', async () => {
    const method = makeMethod(create(AccessSchema));
    const authorize = authorizeBy(() => Promise.reject(new Error('asked')));
    for (const header of ['', 'Bearer', 'Bearer ', 'Bearer a b', 'Basic YTpi', 'hub_1']) {
      const failure = await run(authorize, requestFor(method, header)).catch(ConnectError.from);
      expect(failure, header).to.be.instanceOf(ConnectError).with.property('code', Code.Unauthenticated);
    }
  });
});

/** The method of a made-up service, with an access option or without. */
function makeMethod(option?: MessageOfAccess): DescMethod {
  const options: MethodOptions = create(MethodOptionsSchema);
  if (option) setExtension(options, access, option);
  const file = create(FileDescriptorProtoSchema, {
    name: 'made/up.proto',
    package: 'made.up',
    syntax: 'proto3',
    messageType: [{ name: 'Nothing' }],
    service: [
      {
        name: 'UpService',
        method: [{ name: 'Do', inputType: '.made.up.Nothing', outputType: '.made.up.Nothing', options }],
      },
    ],
  });
  const method = createFileRegistry(create(FileDescriptorSetSchema, { file: [file] })).getService(
    'made.up.UpService',
  )?.methods[0];
  if (method === undefined) throw new Error('the made-up service has no method');
  return method;
}

type MessageOfAccess = ReturnType<typeof create<typeof AccessSchema>>;

/** Tokens are looked up by `byToken`; scopes are not looked at. */
function authorizeBy(byToken: FindCaller['byToken']): Interceptor {
  const findCaller = { byToken, byCertificate: () => Promise.reject(new Error('asked for a certificate')) };
  return createAuthorizeInterceptor(createAuthenticate({ findCaller, clock: systemClock }), async () => {});
}

async function callAs(
  role: Caller['role'] | undefined,
  method: DescMethod,
  scope?: Scope,
): Promise<'called' | Code> {
  const authorize = authorizeBy(async () => role && { name: 'test', role, ...(scope && { scope }) });
  try {
    await run(authorize, requestFor(method, role && 'Bearer hub_1'));
    return 'called';
  } catch (error) {
    return ConnectError.from(error).code;
  }
}

function requestFor(method: DescMethod, authorization: string | undefined): UnaryRequest {
  return {
    stream: false,
    service: method.parent,
    method: method as UnaryRequest['method'], // unary as made above
    requestMethod: 'POST',
    url: 'http://hub/',
    header: new Headers(authorization === undefined ? {} : { authorization }),
    contextValues: createContextValues(),
    signal: new AbortController().signal,
    message: create(method.input),
  };
}

async function run(interceptor: Interceptor, request: UnaryRequest): Promise<unknown> {
  const next = interceptor(async ({ service, method }) => ({
    stream: false,
    service,
    method: method as UnaryRequest['method'], // unary as made above
    header: new Headers(),
    trailer: new Headers(),
    message: create(method.output),
  }));
  return next(request);
}
