// The interceptor that asks every call for a caller whose role the RPC admits and whose scope the request stays in.
import { type DescMethod, getOption, hasOption } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ContextValues,
  type HandlerContext,
  type Interceptor,
} from '@connectrpc/connect';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import { access } from '../../gen/hub/access/v1/access_pb.ts';
import type { Authenticate } from './authenticate.ts';
import { type Caller, callerKey } from './caller.ts';
import { ROLES, type RoleName } from './entities.ts';
import { roleName } from './roles.ts';
import type { CheckScope } from './scope.ts';

/**
 * Finds the caller, unless he is known already (set by the direct transport or by the gate), and holds him to the RPC's
 * access option. Undefined where anybody may call.
 *
 * @throws ConnectError Unauthenticated without a valid token, PermissionDenied with too small a role.
 */
export type Authorize = (
  method: DescMethod,
  /** Asked for only if the caller is not known: a call within the process would have to make them. */
  header: () => Headers,
  values: ContextValues,
) => Promise<Caller | undefined>;

export function createAuthorize(authenticate: Authenticate): Authorize {
  return async (method, header, values) => {
    const rule = accessRule(method);
    if (rule.public) return undefined;
    const caller = values.get(callerKey) ?? (await authenticate(header(), values));
    if (!rule.roles.has(caller.role)) {
      throw new ConnectError(
        `the role "${caller.role}" may not call ${method.parent.typeName}/${method.name}`,
        Code.PermissionDenied,
      );
    }
    return caller;
  };
}

/**
 * Lets a call through if its RPC is public, or if its caller has a role the RPC's access option admits, and a scope
 * that the request stays in.
 *
 * @throws ConnectError as `Authorize` does, PermissionDenied with too small a scope.
 */
export function createAuthorizeInterceptor(authenticate: Authenticate, checkScope: CheckScope): Interceptor {
  const authorize = createAuthorize(authenticate);
  return (next) => async (request) => {
    const { method, contextValues } = request;
    const caller = await authorize(method, () => request.header, contextValues);
    if (caller === undefined) return next(request);
    contextValues.set(callerKey, caller);
    if (!request.stream) {
      if (caller.scope !== undefined) await checkScope(caller, method, request.message);
      return next(request);
    }
    const message = passing(request.message, (asked) => checkScope(caller, method, asked));
    const response = await next({ ...request, message });
    if (!response.stream) return response;
    // A stream may outlive the token: nothing is sent to a caller who would not be let in any more.
    const recheck = async (): Promise<unknown> => authenticate(request.header, contextValues);
    return { ...response, message: passing(response.message, recheck) };
  };
}

async function* passing<T>(messages: AsyncIterable<T>, check: (message: T) => Promise<unknown>) {
  for await (const message of messages) {
    await check(message);
    yield message;
  }
}

/** Finds the caller before anything else of a request is looked at, so that strangers learn nothing from its answer. */
export function createAuthenticateGate(authenticate: Authenticate) {
  return async ({ method, requestHeader, values }: HandlerContext): Promise<void> => {
    if (accessRule(method).public) return;
    try {
      values.set(callerKey, await authenticate(requestHeader, values));
    } catch (error) {
      // What is no refusal (a database that is away) the interceptor meets again, where errors are translated.
      if (error instanceof ConnectError) throw error;
    }
  };
}

export type AccessRule = { readonly public: boolean; readonly roles: ReadonlySet<RoleName> };

const NOBODY: AccessRule = { public: false, roles: new Set() };
const ANY_ROLE: AccessRule = { public: false, roles: new Set(ROLES) };
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
  const named = option.roles.map(roleName).filter((name) => name !== undefined);
  return { public: option.public, roles: new Set<RoleName>(['admin', ...named]) };
}
