// How many calls the RPC port works on at the same time.
import type { Interceptor } from '@connectrpc/connect';
import { Health } from '../../gen/grpc/health/v1/health_pb.ts';
import type { Metrics } from '../../metrics/metrics.ts';
import { overloaded } from '../errors.ts';

/** Refuses calls beyond `max` with HubError `overloaded`. Streams last, and health has to be told: neither counts. */
export function createInFlightLimit(max: number, metrics: Metrics): Interceptor {
  let inFlight = 0;
  metrics.gauge(
    { name: 'hub_rpc_in_flight', help: 'RPCs on the internal port that are worked on, without streams.' },
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
