// What the RPC port bears: messages that are too large, calls that take too long, callers that hang up.

import { Code, createClient, type Transport } from '@connectrpc/connect';
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from '@connectrpc/connect-node';
import { expect } from 'chai';
import { pino } from 'pino';
import { createErrorInterceptor } from '../../../../core/rpc/interceptors/domain-errors.ts';
import { createConcurrencyLimit } from '../../../../core/rpc/server/concurrency-limit.ts';
import { listen, urlOf } from '../../../../core/rpc/server/listener.ts';
import { createRpcListener } from '../../../../core/rpc/server/server.ts';
import { serve } from '../../../../core/service-implementation.ts';
import { Health } from '../../../../gen/grpc/health/v1/health_pb.ts';
import { ErrorDetailSchema } from '../../../../gen/hub/error/v1/error_pb.ts';
import { LicenseService } from '../../../../gen/hub/license/v1/license_service_pb.ts';
import { createMetrics } from '../../../../lib/metrics/metrics.ts';
import { until } from '../../../support/until.ts';
import { failureOf } from '../failure-of.ts';

const MAX_BYTES = 1024 * 1024;
const MAX_TIMEOUT_MS = 60_000;

const no = () => Promise.reject(new Error('no part of these tests'));
const refused = { activate: no, deactivate: no, checkStatus: no, getPublicKey: no, getFreeLimits: no };

describe('the RPC port at its limits', () => {
  let listener: ReturnType<typeof createRpcListener>;
  let baseUrl: string;
  let lengths: number[];
  let aborted: number;
  let release: () => void;

  beforeEach(async () => {
    const held = Promise.withResolvers<void>();
    release = held.resolve;
    lengths = [];
    aborted = 0;
    const licenses = serve(LicenseService, {
      ...refused,
      async getJwks() {
        lengths.push(0);
        await held.promise;
        return {};
      },
      async getPublicKey({ app }, { signal }) {
        lengths.push(app.length);
        signal.addEventListener('abort', () => {
          aborted++;
        });
        if (app === 'slow') await held.promise;
        return {};
      },
    });
    const service = serve(Health, {
      check: ({ service: text }) => {
        lengths.push(text.length);
        return {};
      },
      list: () => ({}),
      async *watch() {},
    });
    const inFlight = createConcurrencyLimit(2, createMetrics());
    const interceptors = [createErrorInterceptor(pino({ level: 'silent' })), inFlight];
    listener = createRpcListener({ services: [service, licenses], interceptors });
    await listen(listener.server, 0, '127.0.0.1', 'a port');
    baseUrl = urlOf(listener.server);
  });
  afterEach(async () => {
    release();
    await listener.close(0);
  });

  const protocols: Record<string, () => Transport> = {
    Connect: () => createConnectTransport({ baseUrl, httpVersion: '1.1' }),
    gRPC: () => createGrpcTransport({ baseUrl }),
    'gRPC-Web': () => createGrpcWebTransport({ baseUrl, httpVersion: '1.1' }),
  };
  for (const [protocol, transport] of Object.entries(protocols)) {
    describe(`by ${protocol}`, () => {
      const ask = (app: string, options = {}) =>
        createClient(LicenseService, transport()).getPublicKey({ app }, options);

      it('refuses a message over a mebibyte', async () => {
        await ask('x'.repeat(MAX_BYTES - 100));
        expect((await failureOf(ask('x'.repeat(MAX_BYTES + 1)))).code).to.equal(Code.ResourceExhausted);
        expect(lengths).to.deep.equal([MAX_BYTES - 100]);
      });

      it('refuses a message over 4096 bytes without a token', async () => {
        const check = (service: string) => createClient(Health, transport()).check({ service });
        await check('x'.repeat(4_000));
        expect((await failureOf(check('x'.repeat(4_097)))).code).to.equal(Code.ResourceExhausted);
        expect(lengths).to.deep.equal([4_000]);
      });

      it('aborts the service when the deadline has passed', async () => {
        const failure = await failureOf(ask('slow', { timeoutMs: 200 }));
        expect(failure.code).to.equal(Code.DeadlineExceeded);
        await until(() => aborted === 1, 'the signal of the call is aborted');
      });

      it('refuses a deadline over a minute', async () => {
        const failure = await failureOf(ask('', { timeoutMs: MAX_TIMEOUT_MS + 1_000 }));
        expect(failure.code).to.equal(Code.InvalidArgument);
        expect(lengths).to.deep.equal([]);
      });

      it('aborts the service when the caller disconnects', async () => {
        const controller = new AbortController();
        const failure = failureOf(ask('slow', { signal: controller.signal }));
        await until(() => lengths.length === 1, 'the call has arrived');
        controller.abort();
        expect((await failure).code).to.equal(Code.Canceled);
        await until(() => aborted === 1, 'the signal of the call is aborted');
      });
    });
  }

  it('sheds calls beyond the concurrency limit, but answers health checks', async () => {
    const transport = createConnectTransport({ baseUrl, httpVersion: '1.1' });
    const ask = () => createClient(LicenseService, transport).getJwks({ app: 'demo' });
    const carried = [ask(), ask()];
    await until(() => lengths.length === 2, 'both calls have arrived');
    const failure = await failureOf(ask());
    expect(failure.code).to.equal(Code.Unavailable);
    expect(failure.findDetails(ErrorDetailSchema)[0]?.code).to.equal('overloaded');
    expect(Number(failure.metadata.get('retry-after')), 'by Connect').to.be.within(1, 60);
    const byGrpc = createClient(LicenseService, createGrpcTransport({ baseUrl }));
    const { metadata } = await failureOf(byGrpc.getJwks({ app: 'demo' }));
    expect(Number(metadata.get('retry-after')), 'by gRPC').to.be.within(1, 60);
    await createClient(Health, transport).check({});
    release();
    await Promise.all(carried);
    await ask();
  });

  it('refuses a message that decompresses to more than a mebibyte', async () => {
    const transport = createConnectTransport({
      baseUrl,
      httpVersion: '1.1',
      sendCompression: compressionGzip,
    });
    const failure = await failureOf(
      createClient(LicenseService, transport).getPublicKey({ app: 'x'.repeat(16 * MAX_BYTES) }),
    );
    expect(failure.code).to.equal(Code.ResourceExhausted);
    expect(lengths).to.deep.equal([]);
  });
});
