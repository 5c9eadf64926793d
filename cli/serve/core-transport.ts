// The connection of a separate gateway to the core: one HTTP/2 connection, which may end or be unusable.

import type { DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { AccessService, type GetCallerResponse } from '../../gen/hub/access/v1/access_service_pb.ts';
import { LicenseService } from '../../gen/hub/license/v1/license_service_pb.ts';
import { ROLES, wordFor } from '../../lib/presentation/enum-names.ts';
import { traceCoreCalls } from '../../lib/tracing/spans.ts';
import { type Trust, tlsOptions } from '../connect/trust.ts';
import { authorizeCalls, rereadCoreToken } from './core-token.ts';
import type { Settings } from './setting-table.ts';

/** @throws Error if a core refuses the token or the certificate, or gives it the role of another program */
export async function openCore(settings: Settings): Promise<Transport> {
  const { coreUrl, coreToken } = settings;
  const transport = coreTransport(settings, coreToken);
  // Wait for a core that is away. A core that refuses the token will not change its mind.
  const proof = coreToken === undefined ? 'HUB_CORE_CLIENT_CERT' : 'HUB_CORE_TOKEN';
  const caller = await createClient(AccessService, transport)
    .getCaller({})
    .catch((error) => {
      if (ConnectError.from(error).code !== Code.Unauthenticated) return undefined;
      throw new Error(`${proof}: not accepted by the core at ${coreUrl}`);
    });
  const wrong = caller && gatewayRoleProblem(caller, coreToken !== undefined);
  if (wrong !== undefined) throw new Error(`${proof}: ${wrong.problem}: ${wrong.remedy}`);
  return transport;
}

/** Why a separate gateway cannot use the rights of this caller; undefined if it can. */
export function gatewayRoleProblem({ role }: Pick<GetCallerResponse, 'role'>, hasToken: boolean) {
  if (role === Role.GATEWAY || role === Role.ADMIN) return undefined;
  const option = hasToken ? '--name gateway' : '--certificate-subject SUBJECT';
  return {
    problem: `its role is ${wordFor(ROLES, role)}, and a gateway needs the role gateway`,
    remedy: `create a token with that role at the core: hubctl token create --role gateway ${option}`,
  };
}

/** Calls with the token, or without one as the caller itself. */
export function coreTransport(settings: Settings, token: { reveal(): string } | undefined): Transport {
  const { coreUrl = '' } = settings; // the role gateway has an address
  const sessions = new Http2SessionManager(
    coreUrl,
    // A core on a dead machine is silent: without pings, TCP would wait for fifteen minutes.
    { pingIntervalMs: SILENT_MS, pingTimeoutMs: PING_MS },
    coreUrl.startsWith('https:') ? tlsOptions(coreTrust(settings)) : {},
  );
  return createConnectTransport({
    baseUrl: coreUrl,
    httpVersion: '2',
    sessionManager: surviving(sessions),
    useBinaryFormat: true,
    defaultTimeoutMs: CALL_TIMEOUT_MS,
    interceptors: [
      traceCoreCalls,
      ...(token ? [authorizeCalls(token, rereadCoreToken)] : []),
      leaveDeadEnds(sessions),
      askAgain,
    ],
  });
}

/** The TLS options of the role gateway for the core. */
export function coreTrust({ coreCa, coreClientCert, coreClientKey }: Settings): Trust {
  return { ca: coreCa, clientCert: coreClientCert, clientKey: coreClientKey };
}

const CALL_TIMEOUT_MS = 10_000;
/**
 * How long a connection may be silent during a call, and then until it answers a ping: together well below
 * the time of a call.
 */
const SILENT_MS = 2_000;
const PING_MS = 3_000;
const ATTEMPTS = 3;

type Calls = Pick<Http2SessionManager, 'authority' | 'request' | 'notifyResponseByteRead'>;

/**
 * A connection that ends while idle emits an error after the library has stopped listening, which would end
 * this process (connect-es issue 1768). The next call opens another connection, so the error can be ignored.
 */
function surviving(sessions: Http2SessionManager): Calls {
  const guarded = new WeakSet<object>();
  return {
    authority: sessions.authority,
    async request(...call) {
      const stream = await sessions.request(...call);
      if (stream.session !== undefined && !guarded.has(stream.session)) {
        guarded.add(stream.session);
        stream.session.on('error', () => {});
      }
      return stream;
    },
    notifyResponseByteRead: (stream) => sessions.notifyResponseByteRead(stream),
  };
}

/** A connection that does not open within the time of a call leads to a dead machine: try another address. */
function leaveDeadEnds(sessions: Http2SessionManager): Interceptor {
  return (next) => async (request) => {
    try {
      return await next(request);
    } catch (error) {
      const isLate = ConnectError.from(error).code === Code.DeadlineExceeded;
      if (isLate && sessions.state() === 'connecting')
        sessions.abort(new ConnectError(GONE, Code.Unavailable));
      throw error;
    }
  };
}

const GONE = 'the core does not accept connections';

/**
 * Retries a call that no core has started. A stopping core finishes its calls and refuses new ones: those go
 * to the next core over another connection. A read is also retried if the core died. After a write it is
 * unknown whether the write was done: the client gets `unavailable` and may repeat it.
 */
const askAgain: Interceptor = (next) => async (request) => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await next(request);
    } catch (error) {
      const isLost = !request.signal.aborted && lostConnection(error);
      const mayRepeat = wasNotBegun(error) || (isLost && READS.has(request.method));
      if (!request.stream && attempt < ATTEMPTS && mayRepeat) continue;
      throw isLost ? new ConnectError(LOST, Code.Unavailable, undefined, undefined, error) : error;
    }
  }
};

const LOST = 'the connection to the core was lost';

/** Calls of a gateway that change nothing. */
const READS: ReadonlySet<DescMethod> = new Set<DescMethod>([
  AccessService.method.getCaller,
  Health.method.check,
  LicenseService.method.checkStatus,
  LicenseService.method.getPublicKey,
  LicenseService.method.getJwks,
  LicenseService.method.getFreeLimits,
]);

const LOST_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ERR_HTTP2_GOAWAY_SESSION',
  'ERR_HTTP2_INVALID_SESSION',
  'ERR_HTTP2_SESSION_ERROR',
  'ERR_HTTP2_STREAM_CANCEL',
  'ERR_HTTP2_STREAM_ERROR',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

/** Whether the connection ended before an answer, as when a core is killed. */
function lostConnection(error: unknown): boolean {
  if (error instanceof ConnectError && error.code === Code.DeadlineExceeded) return false;
  // The library keeps no cause for a stream that ended with its connection.
  if (error instanceof ConnectError && error.rawMessage.startsWith('http/2 stream closed')) return true;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && LOST_CODES.has(cause.code)) return true;
  }
  return false;
}

/**
 * RFC 9113, section 8.7: a refused stream was not processed at all; neither was a call without a connection.
 */
function wasNotBegun(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? cause.code : undefined;
    if (code === 'ECONNREFUSED') return true;
    if (code === 'ERR_HTTP2_STREAM_ERROR' && cause.message.endsWith('NGHTTP2_REFUSED_STREAM')) return true;
  }
  return false;
}
