// How many calls and streams may be open, and that places are free again when they are closed.
import { Code, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import { expect } from 'chai';
import { callerKey } from '../../../../core/access/caller.ts';
import { createHealthService } from '../../../../core/rpc/endpoints/health.ts';
import { createReflectionServices } from '../../../../core/rpc/endpoints/reflection.ts';
import { listen, urlOf } from '../../../../core/rpc/server/listener.ts';
import { PUBLIC_CALLS, STREAMS } from '../../../../core/rpc/server/open-call-limits.ts';
import { createRpcListener } from '../../../../core/rpc/server/server.ts';
import { serve } from '../../../../core/service-implementation.ts';
import {
  Health,
  HealthCheckResponse_ServingStatus as Status,
} from '../../../../gen/grpc/health/v1/health_pb.ts';
import {
  ServerReflection,
  type ServerReflectionRequest,
} from '../../../../gen/grpc/reflection/v1/reflection_pb.ts';
import { until } from '../../../support/until.ts';
import { failureOf } from '../failure-of.ts';

describe('the open calls on the RPC port', () => {
  let listener: ReturnType<typeof createRpcListener>;
  let baseUrl: string;
  let refusals: number;
  let looks: number;
  let status: boolean;
  let leaving: AbortController;
  beforeEach(async () => {
    [refusals, looks, status] = [0, 0, true];
    leaving = new AbortController();
    const isReady = async () => {
      looks += 1;
      return status;
    };
    listener = createRpcListener({
      services: [
        serve(Health, createHealthService({ services: [], isReady, maxWatchMs: 1_500 })),
        ...createReflectionServices([Health]),
      ],
      interceptors: [],
      gate: async ({ values, requestHeader }) => {
        const id = requestHeader.get('x-token');
        if (id !== null) values.set(callerKey, { id, name: id, role: 'monitor' });
      },
      onRefusal: () => {
        refusals += 1;
      },
    });
    await listen(listener.server, 0, '127.0.0.1', 'a port');
    baseUrl = urlOf(listener.server);
  });
  afterEach(async () => {
    leaving.abort();
    await listener.close(0);
  });

  const watch = async (transport = createGrpcTransport({ baseUrl })) => {
    const health = createClient(Health, transport);
    const changes = health.watch({}, { signal: leaving.signal })[Symbol.asyncIterator]();
    expect((await changes.next()).value?.status).to.equal(Status.SERVING);
    return changes;
  };

  it('without a token are limited by connection and address, with a message, until they are closed', async () => {
    const transport = createGrpcTransport({ baseUrl });
    await Promise.all(Array.from({ length: PUBLIC_CALLS.perConnection }, () => watch(transport)));
    const failure = await failureOf(watch(transport));
    expect(failure.code).to.equal(Code.ResourceExhausted);
    expect(failure.rawMessage).to.match(/^this connection has 64 calls without a token open; close some/);
    expect(Number(failure.metadata.get('retry-after'))).to.be.within(1, 60);
    const check = await failureOf(createClient(Health, transport).check({}));
    expect(check.code, 'unary calls count as well').to.equal(Code.ResourceExhausted);

    const others = PUBLIC_CALLS.perClient / PUBLIC_CALLS.perConnection - 1;
    for (let count = 0; count < others; count += 1) {
      const other = createGrpcTransport({ baseUrl });
      await Promise.all(Array.from({ length: PUBLIC_CALLS.perConnection }, () => watch(other)));
    }
    const byConnect = createConnectTransport({ baseUrl, httpVersion: '1.1' });
    const refused = await failureOf(createClient(Health, byConnect).check({}));
    expect(refused.rawMessage).to.match(/^your address has 256 calls/);
    expect(Number(refused.metadata.get('retry-after'))).to.be.within(1, 60);
    expect(refusals).to.equal(3);

    leaving.abort();
    leaving = new AbortController();
    await until(
      () =>
        watch(transport).then(
          () => true,
          () => false,
        ),
      'a new watch is served',
    );
  });

  it('with a token are limited by token and not by address', async () => {
    const held = Promise.withResolvers<void>();
    const open = async (token: string) => {
      async function* questions(): AsyncGenerator<Partial<ServerReflectionRequest>> {
        yield { messageRequest: { case: 'listServices', value: '' } };
        await held.promise;
      }
      const answers = createClient(ServerReflection, createGrpcTransport({ baseUrl })).serverReflectionInfo(
        questions() as AsyncIterable<ServerReflectionRequest>,
        { headers: { 'x-token': token }, signal: leaving.signal },
      );
      await answers[Symbol.asyncIterator]().next();
    };
    await Promise.all(Array.from({ length: STREAMS.perToken }, () => open('tok_1')));
    const failure = await failureOf(open('tok_1'));
    expect(failure.code).to.equal(Code.ResourceExhausted);
    expect(failure.rawMessage).to.match(/^this token has 256 streams open/);
    await open('tok_2');
    held.resolve();
  });

  it('of watchers share one check per second', async () => {
    const watches = await Promise.all(Array.from({ length: 50 }, () => watch()));
    looks = 0;
    await until(() => looks > 0, 'the watches have been checked'); // the next check is a second away
    looks = 0;
    const startedAt = performance.now();
    status = false;
    for (const changes of watches) expect((await changes.next()).value?.status).to.equal(Status.NOT_SERVING);
    expect(looks).to.be.within(1, 1 + (performance.now() - startedAt) / 1_000);
  });

  it('of watchers end after a time by HTTP/1.1, but not by gRPC', async () => {
    const byGrpc = await watch();
    const byConnect = await watch(createConnectTransport({ baseUrl, httpVersion: '1.1' }));
    expect((await byConnect.next()).done).to.equal(true);
    status = false;
    expect((await byGrpc.next()).value?.status).to.equal(Status.NOT_SERVING);
  });
});
