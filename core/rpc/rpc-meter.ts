// Counts what the RPC port is asked, and how it answers.
import type { DescMethod } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import type { Count } from '../../metrics/counter.ts';
import type { Spread } from '../../metrics/histogram.ts';
import type { Metrics } from '../../metrics/metrics.ts';

export type RpcMeter = {
  /** An RPC that reached its service. `code` is undefined if it went well. Streams last: they have no duration. */
  served(method: DescMethod, code: Code | undefined, seconds: number): void;
  /** What never became an RPC, by the HTTP status of its answer. */
  refused(status: number): void;
};

const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createRpcMeter(metrics: Metrics): RpcMeter {
  const served = metrics.counter({
    name: 'hub_rpc_requests_total',
    help: 'RPCs on the internal port that reached their service, by method and code (ok, or that of Connect and gRPC).',
    labels: ['service', 'method', 'code'],
  });
  const took = metrics.histogram({
    name: 'hub_rpc_request_duration_seconds',
    help: 'How long these RPCs took, without streams.',
    labels: ['service', 'method'],
    bounds: BOUNDS,
  });
  const refused = metrics.counter({
    name: 'hub_rpc_refused_total',
    help: 'Requests on the internal port that became no RPC, by HTTP status: no token, no such path, no such message.',
    labels: ['status'],
  });
  type Meter = { readonly codes: Map<Code | undefined, Count>; readonly took: Spread | undefined };
  const meters = new Map<DescMethod, Meter>();

  return {
    served(method, code, seconds) {
      const { name, parent, methodKind } = method;
      let meter = meters.get(method);
      if (meter === undefined) {
        const isStream = methodKind !== 'unary';
        meter = { codes: new Map(), took: isStream ? undefined : took.of(parent.typeName, name) };
        meters.set(method, meter);
      }
      let count = meter.codes.get(code);
      if (count === undefined) {
        count = served.of(parent.typeName, name, code === undefined ? 'ok' : labelOf(code));
        meter.codes.set(code, count);
      }
      count.add();
      meter.took?.note(seconds);
    },
    refused: (status) => refused.of(String(status)).add(),
  };
}

/** `not_found`, as the protocol writes it. */
function labelOf(code: Code): string {
  const name = Code[code] ?? 'unknown';
  return name.replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
