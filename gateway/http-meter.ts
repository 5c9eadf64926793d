// Counts what the gateway is asked, and how it answers.
import type { Count } from '../metrics/counter.ts';
import type { Spread } from '../metrics/histogram.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { PROBLEMS, type ProblemCode } from './problem.ts';
import type { Route } from './routes.ts';

export type HttpMeter = {
  /** An answer to a request of the route, undefined if it has none; 499 if its client has left. */
  answered(route: Route | undefined, status: number, seconds: number): void;
  /** What was not HTTP enough to become a request. */
  refused(status: number): void;
  problem(code: ProblemCode): void;
};

/** What paths nobody serves are counted under: they are whatever callers make up. */
const NO_ROUTE = 'none';
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type RouteMeter = { readonly name: string; readonly statuses: Map<number, Count>; took?: Spread };

export function createHttpMeter(metrics: Metrics): HttpMeter {
  const answers = metrics.counter({
    name: 'hub_http_requests_total',
    help: 'Requests to the public gateway by route and status; 499: the client left before its answer.',
    labels: ['route', 'status'],
  });
  const took = metrics.histogram({
    name: 'hub_http_request_duration_seconds',
    help: 'From the headers of a request to the public gateway until its answer is handed to the socket.',
    labels: ['route'],
    bounds: BOUNDS,
  });
  const problems = metrics.counter({
    name: 'hub_http_problems_total',
    help: 'Error answers of the public gateway by their code: docs/rest.md lists them.',
    labels: ['code'],
  });
  const meters = new Map<Route | undefined, RouteMeter>();
  const byCode = new Map<ProblemCode, Count>();
  for (const code in PROBLEMS) byCode.set(code as ProblemCode, problems.of(code)); // its keys are the codes

  /** What a request costs is two look-ups here, and the additions. */
  const meterOf = (route: Route | undefined): RouteMeter => {
    let meter = meters.get(route);
    if (meter === undefined) {
      meter = { name: route?.countedAs ?? route?.pattern ?? NO_ROUTE, statuses: new Map() };
      meters.set(route, meter);
    }
    return meter;
  };
  const count = ({ name, statuses }: RouteMeter, status: number): void => {
    let each = statuses.get(status);
    if (each === undefined) {
      each = answers.of(name, String(status));
      statuses.set(status, each);
    }
    each.add();
  };
  return {
    answered(route, status, seconds) {
      const meter = meterOf(route);
      count(meter, status);
      meter.took ??= took.of(meter.name);
      meter.took.note(seconds);
    },
    refused: (status) => count(meterOf(undefined), status),
    problem: (code) => byCode.get(code)?.add(),
  };
}
