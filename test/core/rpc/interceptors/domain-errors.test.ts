// The error that a failed call returns, and its log line.
import { once } from 'node:events';
import { Code, ConnectError, createContextValues, type Interceptor } from '@connectrpc/connect';
import { expect } from 'chai';
import { type Logger, pino } from 'pino';
import { requestIdKey } from '../../../../core/access/caller.ts';
import { HUB_ERRORS, HubError, type HubErrorCode, type HubErrorKind } from '../../../../core/errors.ts';
import { createInProcessTransport } from '../../../../core/rpc/in-process/transport.ts';
import { createErrorInterceptor } from '../../../../core/rpc/interceptors/domain-errors.ts';
import { listen, urlOf } from '../../../../core/rpc/server/listener.ts';
import { createRpcListener } from '../../../../core/rpc/server/server.ts';
import { serve } from '../../../../core/service-implementation.ts';
import { Health, HealthCheckResponse_ServingStatus } from '../../../../gen/grpc/health/v1/health_pb.ts';
import { AccessService } from '../../../../gen/hub/access/v1/access_service_pb.ts';
import { ErrorDetailSchema } from '../../../../gen/hub/error/v1/error_pb.ts';
import { openRaw } from '../../../gateway/server/raw-socket.ts';

const CODES: Record<HubErrorKind, Code> = {
  not_found: Code.NotFound,
  already_exists: Code.AlreadyExists,
  failed_precondition: Code.FailedPrecondition,
  resource_exhausted: Code.ResourceExhausted,
  permission_denied: Code.PermissionDenied,
  invalid_argument: Code.InvalidArgument,
  unavailable: Code.Unavailable,
};
const HUB_ERROR_CODES = Object.keys(HUB_ERRORS) as HubErrorCode[]; // the keys of a constant

describe('the error of a call', () => {
  for (const code of HUB_ERROR_CODES) {
    const expected = CODES[HUB_ERRORS[code]];
    it(`is ${Code[expected]} for ${code}, with the code as its detail`, async () => {
      const { error, log } = await fail(new HubError(code, 'try this'));
      expect(error).to.include({ code: expected, rawMessage: 'try this' });
      expect(error.findDetails(ErrorDetailSchema)).to.deep.equal([
        { $typeName: 'hub.error.v1.ErrorDetail', code, field: '', allow: '', sessionId: '' },
      ]);
      expect(log).to.deep.equal([]);
    });
  }

  it('includes the seats, the session and the field', async () => {
    const refusal = new HubError('seat_limit_reached', 'full', {
      seats: { limit: 2, used: 2 },
      field: 'licenseKey',
      sessionId: 'chs_1',
    });
    const [detail] = (await fail(refusal)).error.findDetails(ErrorDetailSchema);
    expect(detail).to.include({ field: 'licenseKey', sessionId: 'chs_1' });
    expect(detail?.seats).to.include({ limit: 2, used: 2 });
  });

  it('stays unchanged if it is a ConnectError', async () => {
    const original = new ConnectError('no', Code.Aborted);
    expect((await fail(original)).error).to.equal(original);
  });

  for (const [name, outage] of [
    ['a refused connection', withCode('ECONNREFUSED')],
    ['a connection that was reset', withCode('ECONNRESET')],
    ['a server that shuts down', withCode('57P01')],
    ['a server with too many clients', withCode('53300')],
    ['a statement that took too long', withCode('57014')],
    ['a name with several addresses, none of which answers', new AggregateError([withCode('ECONNREFUSED')])],
    ['a pool that has no connection free', new Error('timeout exceeded when trying to connect')],
    ['a connection that ended', new Error('Connection terminated unexpectedly')],
  ] as const) {
    it(`is Unavailable for ${name}, with a warning in the log`, async () => {
      const { error, log } = await fail(outage);
      expect(error).to.include({
        code: Code.Unavailable,
        rawMessage: 'the hub cannot reach its database; try again',
      });
      expect(log.map(({ level, rpc, requestId }) => ({ level, rpc, requestId }))).to.deep.equal([
        { level: 'warn', rpc: 'GetCaller', requestId: 'request-1' },
      ]);
    });
  }

  for (const [name, unforeseen] of [
    ['an Error', new Error('secret inside', { cause: new Error('secret cause') })],
    [
      'a broken constraint',
      Object.assign(new Error('secret inside'), { code: '23505', detail: 'secret row' }),
    ],
    ['something that is no Error', 'secret text'],
  ] as const) {
    it(`is Internal for ${name}, and only the log has the details, once`, async () => {
      const { error, log } = await fail(unforeseen);
      expect(error).to.include({ code: Code.Internal, rawMessage: 'internal error', cause: undefined });
      expect(error.details).to.deep.equal([]);
      expect(log.map(({ level, requestId }) => ({ level, requestId }))).to.deep.equal([
        { level: 'error', requestId: 'request-1' },
      ]);
      expect(JSON.stringify(log[0])).to.include('secret');
    });
  }
});

describe('a stream whose caller disconnects', () => {
  it('ends without an error in the log', async () => {
    const log: LogLine[] = [];
    const ended = Promise.withResolvers<void>();
    const health = serve(Health, {
      check: () => ({}),
      list: () => ({}),
      async *watch() {
        try {
          while (true) yield { status: HealthCheckResponse_ServingStatus.SERVING };
        } finally {
          ended.resolve();
        }
      },
    });
    const listener = createRpcListener({
      services: [health],
      interceptors: [createErrorInterceptor(loggerTo(log))],
    });
    await listen(listener.server, 0, '127.0.0.1', 'a port');
    const { socket } = await openRaw(Number(new URL(urlOf(listener.server)).port));
    const greeted = once(socket, 'data');
    const head = 'Host: hub\r\nContent-Type: application/connect+json\r\nContent-Length: 7';
    socket.write(`POST /grpc.health.v1.Health/Watch HTTP/1.1\r\n${head}\r\n\r\n\0\0\0\0\x02{}`);
    await greeted;
    socket.pause();
    socket.resetAndDestroy();
    await ended.promise;
    await listener.close(0);
    expect(log).to.deep.equal([]);
  });
});

describe('a call whose caller has disconnected', () => {
  it('is not logged as an error, although its response cannot be written', async () => {
    const logOf = async (code: string, signal: AbortSignal): Promise<LogLine[]> => {
      const log: LogLine[] = [];
      const gone = () => Promise.reject(withCode(code));
      const request = {
        signal,
        header: new Headers(),
        method: AccessService.method.getCaller,
        contextValues: createContextValues(),
      };
      const call = createErrorInterceptor(loggerTo(log))(gone);
      await call(request as unknown as Parameters<typeof call>[0]).catch(() => {}); // what the interceptor looks at is there
      return log;
    };
    for (const code of ['ERR_STREAM_DESTROYED', 'ERR_HTTP2_INVALID_STREAM']) {
      expect(await logOf(code, AbortSignal.abort()), code).to.deep.equal([]);
      expect(await logOf(code, new AbortController().signal), code).to.have.length(1);
    }
  });
});

type LogLine = { level: string; rpc?: string; requestId?: string };

/** Calls a service that throws `thrown`; what the caller gets, and what the log. */
async function fail(thrown: unknown): Promise<{ error: ConnectError; log: LogLine[] }> {
  const log: LogLine[] = [];
  const logger = loggerTo(log);
  const nameRequest: Interceptor = (next) => (request) => {
    request.contextValues.set(requestIdKey, 'request-1');
    return next(request);
  };
  const { unary } = createInProcessTransport({
    services: [serve(AccessService, { getCaller: () => Promise.reject(thrown) })],
    interceptorsOf: () => [createErrorInterceptor(logger), nameRequest],
    defaultTimeoutMs: 10_000,
    caller: { name: 'test', role: 'admin' },
  });
  try {
    await unary(AccessService.method.getCaller, undefined, undefined, undefined, {});
  } catch (error) {
    if (error instanceof ConnectError) return { error, log };
  }
  throw new Error('the call did not fail with a ConnectError');
}

function loggerTo(log: LogLine[]): Logger {
  return pino(
    { level: 'trace', formatters: { level: (level) => ({ level }) } },
    { write: (line: string) => log.push(JSON.parse(line)) },
  );
}

function withCode(code: string): Error {
  return Object.assign(new Error(`failed with ${code}`), { code });
}
