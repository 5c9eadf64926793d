// What the log of the RPC port keeps of requests that end before their calls do.
import { setImmediate } from 'node:timers/promises';
import { createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-node';
import { expect } from 'chai';
import { pino } from 'pino';
import { createRpcMetrics } from '../../../../core/rpc/interceptors/metrics.ts';
import { createRequestLog } from '../../../../core/rpc/interceptors/request-log.ts';
import { listen, urlOf } from '../../../../core/rpc/server/listener.ts';
import { createRpcListener } from '../../../../core/rpc/server/server.ts';
import { serve } from '../../../../core/service-implementation.ts';
import { Health } from '../../../../gen/grpc/health/v1/health_pb.ts';
import { createMetrics } from '../../../../lib/metrics/metrics.ts';
import { until } from '../../../support/until.ts';
import { failureOf } from '../failure-of.ts';

describe('the log of the RPC port', () => {
  it('keeps nothing of a call whose client disconnects early', async () => {
    const lines: { msg: string; path?: string; requestId: string }[] = [];
    const write = (line: string) => lines.push(JSON.parse(line));
    const logger = pino({ level: 'debug' }, { write }); // calls of Health are logged at debug
    const log = createRequestLog(logger, createRpcMetrics(createMetrics()));
    const held = Promise.withResolvers<void>();
    let asked = 0;
    const service = serve(Health, {
      async check() {
        asked += 1;
        await held.promise;
        return {};
      },
      list: () => ({}),
      async *watch() {},
    });
    const listener = createRpcListener({
      services: [service],
      interceptors: [log.interceptor],
      wrap: log.wrap,
    });
    await listen(listener.server, 0, '127.0.0.1', 'a port');
    try {
      const baseUrl = urlOf(listener.server);
      const headers = { 'x-request-id': 'request-1' };
      const leaving = new AbortController();
      const health = createClient(Health, createConnectTransport({ baseUrl, httpVersion: '1.1' }));
      const failure = failureOf(health.check({}, { headers, signal: leaving.signal }));
      await until(() => asked === 1, 'the call has arrived');
      leaving.abort();
      await failure;
      await until(() => lines.length === 1, 'the request is closed');
      held.resolve();
      await until(() => lines.length === 2, 'the call is logged');
      await setImmediate();
      // If the id of the first were kept, this one would be taken for it.
      await (await fetch(`${baseUrl}/nothing`, { headers })).text();
      await until(() => lines.some(({ path }) => path === '/nothing'), 'the other request is logged');
      expect(lines.map(({ msg }) => msg)).to.deep.equal(['request', 'rpc', 'rpc refused']);
    } finally {
      await listener.close(0);
    }
  });
});
