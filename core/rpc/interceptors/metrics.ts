// Counts the RPCs of the internal port and their results.

import type { DescMethod } from '@bufbuild/protobuf';
import type { Code } from '@connectrpc/connect';
import { codeToString } from '@connectrpc/connect/protocol-connect';

import type { Metrics } from '../../../lib/metrics/metrics.ts';

export type RpcMetrics = ReturnType<typeof createRpcMetrics>;

const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export function createRpcMetrics(metrics: Metrics) {
  const requests = metrics.counter({
    name: 'hub_rpc_requests_total',
    help:
      'RPCs on the internal port that reached their service, ' +
      'by method and code (ok, or that of Connect and gRPC).',
    labelNames: ['service', 'method', 'code'],
  });
  const durations = metrics.histogram({
    name: 'hub_rpc_request_duration_seconds',
    help: 'How long these RPCs took, without streams.',
    labelNames: ['service', 'method'],
    buckets: DURATION_BUCKETS,
  });
  const refused = metrics.counter({
    name: 'hub_rpc_refused_total',
    help:
      'Requests on the internal port that were refused before they became RPCs, ' +
      'by HTTP status: no token, no such path, no such message.',
    labelNames: ['status'],
  });
  return {
    /**
     * Counts an RPC that reached its service; `code` is undefined if it succeeded. Streams have no duration.
     */
    served({ name: method, parent, methodKind }: DescMethod, code: Code | undefined, seconds: number): void {
      const service = parent.typeName;
      requests.inc({ service, method, code: code === undefined ? 'ok' : codeToString(code) });
      if (methodKind === 'unary') durations.observe({ service, method }, seconds);
    },
    /** Counts a request that did not become an RPC, by its HTTP status. */
    refused: (status: number): void => refused.inc({ status }),
  };
}
