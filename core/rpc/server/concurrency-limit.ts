// Limits the number of calls that the RPC port handles at the same time.
import type { Interceptor } from '@connectrpc/connect';
import { Health } from '../../../gen/grpc/health/v1/health_pb.ts';
import type { Metrics } from '../../../lib/metrics/metrics.ts';
import { overloaded } from '../../errors.ts';

/** Rejects calls beyond `max` with HubError `overloaded`. Streams and health checks do not count. */
export function createConcurrencyLimit(max: number, metrics: Metrics): Interceptor {
  let inFlight = 0;
  metrics.gauge(
    { name: 'hub_rpc_in_flight', help: 'RPCs in progress on the internal port, without streams.' },
    () => inFlight,
  );
  return (next) => async (request) => {
    if (request.stream || request.method.parent.typeName === Health.typeName) return next(request);
    if (inFlight >= max) throw overloaded();
    inFlight += 1;
    try {
      return await next(request);
    } finally {
      inFlight -= 1;
    }
  };
}
