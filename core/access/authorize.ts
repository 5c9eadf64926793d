// Authorizes calls: the RPC must allow the caller's role, and the request must stay within the caller's
// scope.
import { setTimeout as sleep } from 'node:timers/promises';
import { type DescMethod, getOption, hasOption } from '@bufbuild/protobuf';
import {
  Code,
  ConnectError,
  type ContextValues,
  type HandlerContext,
  type Interceptor,
} from '@connectrpc/connect';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import { access, type Role } from '../../gen/hub/access/v1/access_pb.ts';
import type { Authenticate } from './authenticate.ts';
import { type Caller, callerKey } from './caller.ts';
import { ROLES, type RoleName } from './entities.ts';
import { roleName } from './roles.ts';
import type { CheckScope } from './scope.ts';

/**
 * Authenticates the caller, unless the in-process transport or the gate has done so, and checks the role
 * against the RPC's access option. Undefined for a public RPC.
 *
 * @throws ConnectError Unauthenticated without a valid credential, PermissionDenied if the role is not
 * allowed
 */
export type Authorize = (
  method: DescMethod,
  /** Called only if the caller is unknown: calls within the process have no headers. */
  header: () => Headers,
  values: ContextValues,
) => Promise<Caller | undefined>;

export function createAuthorize(authenticate: Authenticate): Authorize {
  return async (method, header, values) => {
    const rule = accessRule(method);
    if (rule.public) return undefined;
    const caller = values.get(callerKey) ?? (await authenticate(header(), values));
    const isAllowed =
      rule.roles.has(caller.role) ||
      (rule.appScopedRoles.has(caller.role) && (caller.scope?.apps ?? []).length > 0);
    if (!isAllowed) {
      const call = `${method.parent.typeName}/${method.name}`;
      const message = rule.appScopedRoles.has(caller.role)
        ? `the role "${caller.role}" may call ${call} only with a token limited to apps`
        : `the role "${caller.role}" may not call ${call}`;
      throw new ConnectError(message, Code.PermissionDenied);
    }
    return caller;
  };
}

/**
 * Checks role and scope of each call, and each message of a stream.
 *
 * @throws ConnectError as `Authorize` does; the errors of `CheckScope`
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
    const message = checkEach(request.message, (each) => checkScope(caller, method, each));
    const response = await next({ ...request, message });
    if (!response.stream) return response;
    // The token may be revoked during a stream.
    const recheck = async (): Promise<unknown> => authenticate(request.header, contextValues);
    return { ...response, message: checkWhileOpen(response.message, recheck) };
  };
}

const RECHECK_MS = 5_000;

/**
 * Checks before each message, and every five seconds while there is none. Ends with the error of the check.
 */
async function* checkWhileOpen<T>(messages: AsyncIterable<T>, check: () => Promise<unknown>) {
  const iterator = messages[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      next.catch(() => {}); // the check may end the stream first
      const arrived = await checkUntilSettled(next, check);
      if (arrived.done) return;
      await check();
      yield arrived.value;
    }
  } finally {
    // Not awaited: it waits for a pending `next`.
    iterator.return?.().catch(() => {});
  }
}

async function checkUntilSettled<T>(promise: Promise<T>, check: () => Promise<unknown>): Promise<T> {
  for (;;) {
    const stop = new AbortController();
    const pause = sleep(RECHECK_MS, PAUSED, { signal: stop.signal }).catch(() => PAUSED);
    const first = await Promise.race([promise, pause]).finally(() => stop.abort());
    if (first !== PAUSED) return first as T;
    await check();
  }
}

const PAUSED = Symbol('paused');

async function* checkEach<T>(messages: AsyncIterable<T>, check: (message: T) => Promise<unknown>) {
  for await (const message of messages) {
    await check(message);
    yield message;
  }
}

/**
 * Authenticates the caller before the request is read, so that unauthenticated callers learn nothing from the
 * errors.
 */
export function createAuthenticateGate(authenticate: Authenticate) {
  return async ({ method, requestHeader, values }: HandlerContext): Promise<void> => {
    if (accessRule(method).public) return;
    try {
      values.set(callerKey, await authenticate(requestHeader, values));
    } catch (error) {
      // The interceptor authenticates again, and translates other errors such as an unavailable database.
      if (error instanceof ConnectError) throw error;
    }
  };
}

export type AccessRule = {
  readonly public: boolean;
  readonly roles: ReadonlySet<RoleName>;
  /** The roles that may call the RPC only with a token that is limited to apps. */
  readonly appScopedRoles: ReadonlySet<RoleName>;
};

const NO_ROLES: ReadonlySet<RoleName> = new Set();
const NOBODY: AccessRule = { public: false, roles: NO_ROLES, appScopedRoles: NO_ROLES };
const ANY_ROLE: AccessRule = { public: false, roles: new Set(ROLES), appScopedRoles: NO_ROLES };
const rules = new WeakMap<DescMethod, AccessRule>();

/** Whether a caller of this role, without a scope, may make every call of an RPC. */
export function mayCall(role: RoleName, method: DescMethod): boolean {
  const rule = accessRule(method);
  return rule.public || rule.roles.has(role);
}

/** The roles that may call an RPC, from its access option. Without the option, none. */
export function accessRule(method: DescMethod): AccessRule {
  let rule = rules.get(method);
  if (rule === undefined) {
    rule = readRule(method);
    rules.set(method, rule);
  }
  return rule;
}

function readRule(method: DescMethod): AccessRule {
  // The standard services have no access option: health is public, reflection needs any role.
  if (method.parent.typeName === Health.typeName)
    return { public: true, roles: NO_ROLES, appScopedRoles: NO_ROLES };
  if (method.parent.typeName.startsWith('grpc.reflection.')) return ANY_ROLE;
  if (!hasOption(method, access)) return NOBODY;
  const option = getOption(method, access);
  const named = (roles: readonly Role[]) => roles.map(roleName).filter((name) => name !== undefined);
  return {
    public: option.public,
    roles: new Set<RoleName>(['admin', ...named(option.roles)]),
    appScopedRoles: new Set<RoleName>(named(option.appScopedRoles)),
  };
}
