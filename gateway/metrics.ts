// Counts the requests of the public gateway and their responses.
import type { Metrics } from '../lib/metrics/metrics.ts';
import { PROBLEMS, type ProblemCode } from './problem.ts';
import type { Route } from './routes/routes.ts';

export type HttpMetrics = {
  /** Counts a response. `route` is undefined if no route matched; `status` is 499 if the client disconnected. */
  responded(route: Route | undefined, status: number, seconds: number): void;
  /** Counts bytes that could not be parsed as a request. */
  refused(status: number): void;
  problem(code: ProblemCode): void;
};

/** The label of requests without a route: their paths are arbitrary, and labels must stay few. */
const NO_ROUTE = 'none';
const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createHttpMetrics(metrics: Metrics): HttpMetrics {
  const requests = metrics.counter({
    name: 'hub_http_requests_total',
    help: 'Requests to the public gateway by route and status; 499: the client disconnected before the response.',
    labelNames: ['route', 'status'],
  });
  const durations = metrics.histogram({
    name: 'hub_http_request_duration_seconds',
    help: 'Time from the headers of a request to the public gateway until its response is written to the socket.',
    labelNames: ['route'],
    buckets: DURATION_BUCKETS,
  });
  const problems = metrics.counter({
    name: 'hub_http_problems_total',
    help: 'Error answers of the public gateway by their code: docs/rest.md lists them.',
    labelNames: ['code'],
  });
  for (const code in PROBLEMS) problems.inc({ code }, 0);

  return {
    responded(route, status, seconds) {
      const name = route?.countedAs ?? route?.pattern ?? NO_ROUTE;
      requests.inc({ route: name, status });
      durations.observe({ route: name }, seconds);
    },
    refused: (status) => requests.inc({ route: NO_ROUTE, status }),
    problem: (code) => problems.inc({ code }),
  };
}
