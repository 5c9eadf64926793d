// How a gateway in a process of its own calls the core: one HTTP/2 connection, which may end and may lead nowhere.

import type { DescMethod } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Interceptor, type Transport } from '@connectrpc/connect';
import { createConnectTransport, Http2SessionManager } from '@connectrpc/connect-node';
import { Health } from '../gen/grpc/health/v1/health_pb.ts';
import { AccessService } from '../gen/hub/access/v1/access_service_pb.ts';
import { LicenseService } from '../gen/hub/license/v1/license_service_pb.ts';
import { traceAsked } from '../tracing/rpc-interceptors.ts';
import type { Settings } from './settings.ts';
import { type Trust, tlsOptions } from './trust.ts';

/** @throws Error if a core answers that it does not know the token or the certificate */
export async function openCore(settings: Settings): Promise<Transport> {
  const { coreUrl, coreToken } = settings;
  const transport = coreTransport(settings, coreToken);
  // A core that is away may come; one that does not know the token never will.
  await createClient(AccessService, transport)
    .getCaller({})
    .catch((error) => {
      if (ConnectError.from(error).code !== Code.Unauthenticated) return;
      const proof = coreToken === undefined ? 'HUB_CORE_CLIENT_CERT' : 'HUB_CORE_TOKEN';
      throw new Error(`${proof}: not accepted by the core at ${coreUrl}`);
    });
  return transport;
}

/** As whoever the token stands for; without one, as each call says itself. */
export function coreTransport(settings: Settings, token: { reveal(): string } | undefined): Transport {
  const { coreUrl = '' } = settings; // the role gateway has an address
  const sessions = new Http2SessionManager(
    coreUrl,
    // A core whose machine is gone says nothing more: without pings TCP would wait a quarter of an hour for it.
    { pingIntervalMs: SILENT_MS, pingTimeoutMs: PING_MS },
    coreUrl.startsWith('https:') ? tlsOptions(coreTrust(settings)) : {},
  );
  const authorize: Interceptor = (next) => (request) => {
    if (token) request.header.set('authorization', `Bearer ${token.reveal()}`);
    return next(request);
  };
  return createConnectTransport({
    baseUrl: coreUrl,
    httpVersion: '2',
    sessionManager: surviving(sessions),
    useBinaryFormat: true,
    defaultTimeoutMs: CALL_TIMEOUT_MS,
    interceptors: [traceAsked, authorize, leaveDeadEnds(sessions), askAgain],
  });
}

/** By what the role gateway recognizes the core, and what it shows it. */
export function coreTrust({ coreCa, coreClientCert, coreClientKey }: Settings): Trust {
  return { ca: coreCa, clientCert: coreClientCert, clientKey: coreClientKey };
}

const CALL_TIMEOUT_MS = 10_000;
/** As long as a connection may be silent under a call, and then for a ping: together well below the time of a call. */
const SILENT_MS = 2_000;
const PING_MS = 3_000;
const ATTEMPTS = 3;

/** What a transport needs of a session manager. */
type Calls = Pick<Http2SessionManager, 'authority' | 'request' | 'notifyResponseByteRead'>;

/**
 * A connection that ends while it is idle raises an error after the library has stopped listening for it, which would end
 * this process (connect-es issue 1768): nobody has to be told of it, since the next call opens another connection.
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

/** A connection that could not be opened in the time of a whole call leads to a machine that is gone: try another. */
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

const GONE = 'the core does not take connections';

/**
 * Asks again what no core has begun to work on. A core that stops takes no more calls on its connections and finishes
 * those it has: what was on its way to it just then is refused, and belongs on the next connection, to the next core.
 * A read is also asked again when the core died over it. Of a write nobody knows then whether it was done: its client
 * gets `unavailable` and may repeat it.
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

/** Whether the connection ended before an answer, as it does when a core is killed. */
function lostConnection(error: unknown): boolean {
  if (error instanceof ConnectError && error.code === Code.DeadlineExceeded) return false;
  // Of a stream that ended with its connection the library keeps no cause.
  if (error instanceof ConnectError && error.rawMessage.startsWith('http/2 stream closed')) return true;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ('code' in cause && LOST_CODES.has(cause.code)) return true;
  }
  return false;
}

/** RFC 9113, section 8.7: a stream that was refused was not processed at all; and so was none without a connection. */
function wasNotBegun(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause ? cause.code : undefined;
    if (code === 'ECONNREFUSED') return true;
    if (code === 'ERR_HTTP2_STREAM_ERROR' && cause.message.endsWith('NGHTTP2_REFUSED_STREAM')) return true;
  }
  return false;
}
