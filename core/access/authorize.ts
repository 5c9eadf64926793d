// The interceptor that asks every call for a token whose role the RPC admits.
import { type DescMethod, getOption, hasOption } from '@bufbuild/protobuf';
import { Code, ConnectError, type HandlerContext, type Interceptor } from '@connectrpc/connect';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import { access, Role } from '../../gen/hub/access/v1/access_pb.ts';
import { type Caller, callerKey } from './caller.ts';
import type { RoleName } from './entities.ts';

/**
 * Lets a call through if its RPC is public, or if its caller has a role the RPC's access option admits.
 * The caller is already known (set by the direct transport or by the gate) or is found by the bearer token.
 *
 * @throws ConnectError Unauthenticated without a valid token, PermissionDenied with too small a role.
 */
export function createAuthorizeInterceptor(
  findCaller: (token: string) => Promise<Caller | undefined>,
): Interceptor {
  return (next) => async (request) => {
    const rule = accessRule(request.method);
    if (rule.public) return next(request);
    const caller =
      request.contextValues.get(callerKey) ??
      (await authenticate(request.header.get('authorization'), findCaller));
    if (!rule.roles.has(caller.role)) {
      throw new ConnectError(
        `the role "${caller.role}" may not call ${request.method.parent.typeName}/${request.method.name}`,
        Code.PermissionDenied,
      );
    }
    request.contextValues.set(callerKey, caller);
    return next(request);
  };
}

/** Finds the caller before anything else of a request is looked at, so that strangers learn nothing from its answer. */
export function createAuthenticateGate(findCaller: (token: string) => Promise<Caller | undefined>) {
  return async (context: HandlerContext): Promise<void> => {
    if (accessRule(context.method).public) return;
    try {
      const header = context.requestHeader.get('authorization');
      context.values.set(callerKey, await authenticate(header, findCaller));
    } catch (error) {
      // What is no refusal (a database that is away) the interceptor meets again, where errors are translated.
      if (error instanceof ConnectError) throw error;
    }
  };
}

async function authenticate(
  header: string | null,
  findCaller: (token: string) => Promise<Caller | undefined>,
): Promise<Caller> {
  if (header === null) {
    throw new ConnectError('send a service token as "Authorization: Bearer <token>"', Code.Unauthenticated);
  }
  const token = /^Bearer +([\x21-\x7e]+)$/i.exec(header)?.[1];
  const caller = token === undefined ? undefined : await findCaller(token);
  if (caller === undefined) {
    throw new ConnectError('the service token is not valid here', Code.Unauthenticated);
  }
  return caller;
}

export type AccessRule = { readonly public: boolean; readonly roles: ReadonlySet<RoleName> };

const NOBODY: AccessRule = { public: false, roles: new Set() };
const ANY_ROLE: AccessRule = { public: false, roles: new Set(['admin', 'operator', 'service', 'viewer']) };
const ROLE_NAMES: Record<Role, RoleName | undefined> = {
  [Role.UNSPECIFIED]: undefined,
  [Role.ADMIN]: 'admin',
  [Role.OPERATOR]: 'operator',
  [Role.SERVICE]: 'service',
  [Role.VIEWER]: 'viewer',
};
const rules = new WeakMap<DescMethod, AccessRule>();

/** Who may call an RPC, from its access option. Without the option: nobody. */
export function accessRule(method: DescMethod): AccessRule {
  let rule = rules.get(method);
  if (rule === undefined) {
    rule = readRule(method);
    rules.set(method, rule);
  }
  return rule;
}

function readRule(method: DescMethod): AccessRule {
  // The standard services carry no options of ours: anyone may ask for health, any token for the schema.
  if (method.parent.typeName === Health.typeName) return { public: true, roles: new Set() };
  if (method.parent.typeName.startsWith('grpc.reflection.')) return ANY_ROLE;
  if (!hasOption(method, access)) return NOBODY;
  const option = getOption(method, access);
  const named = option.roles.map((role) => ROLE_NAMES[role]).filter((name) => name !== undefined);
  return { public: option.public, roles: new Set<RoleName>(['admin', ...named]) };
}
