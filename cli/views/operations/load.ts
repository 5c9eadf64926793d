// JSON schema of a hub's load, as hubctl top prints it.
import {
  boolean,
  integer,
  list,
  map,
  number,
  object,
  optional,
  text,
  time,
} from '../../output/json-schema.ts';

const perSecond = (what: string) => number(`${what} per second`);
const ms = (what: string) => optional(number(`${what}, in milliseconds; missing without samples`));
/** Figures from the database are missing while it is unreachable. */
const depth = (what: string) => optional(integer(`${what}; 10000 means at least 10000`));

const REQUESTS = object('RequestLoad', {
  name: text('route of the public gateway (`/v1/activate`), or service and method of the internal port'),
  perSecond: perSecond('requests'),
  errorsPerSecond: perSecond('requests that failed in the hub (status 5xx, or the equivalent codes)'),
  p50Ms: ms('median'),
  p99Ms: ms('99th percentile'),
});
const PROVIDER = object('ProviderLoad', {
  slot: text(),
  questionsPerSecond: perSecond('verifications of charge sessions'),
  failuresPerSecond: perSecond('failed verifications'),
  p50Ms: ms('median response time'),
  p99Ms: ms('99th percentile'),
  underWay: integer('verifications in progress'),
  waiting: integer('verifications waiting for their turn'),
  sweepOverdueSeconds: optional(number('delay of the sweep')),
});

export const LOAD = object('Load', {
  at: time(),
  seconds: number('period of the rates and latencies'),
  version: text('of the hub'),
  requests: list(REQUESTS, 'the most frequent first'),
  callbacks: object('CallbackLoad', {
    perSecond: perSecond('callbacks journaled'),
    settledPerSecond: perSecond('callbacks settled'),
    waiting: depth('callbacks waiting for their provider'),
    oldestWaitingSeconds: optional(number('age of the oldest of them')),
    stray: depth('stray callbacks'),
    dead: depth('dead callbacks'),
  }),
  sessions: object('SessionLoad', {
    createdPerSecond: perSecond('charge sessions created'),
    paidPerSecond: perSecond('charge sessions that became a success'),
    pending: depth('pending sessions'),
  }),
  providers: list(PROVIDER),
  licenses: object('LicenseLoad', {
    activationsPerSecond: perSecond('activations granted'),
    seatsTakenPerSecond: perSecond('seats taken'),
    seatsReleasedPerSecond: perSecond('seats released'),
    seatsActive: optional(integer('seats in use')),
  }),
  refusedPerSecond: map(number(), 'requests and connections refused per second, by limit'),
  database: object('DatabaseLoad', {
    up: boolean("whether it accepts the hub's credentials"),
    connections: integer('busy connections'),
    limit: integer('maximum number of connections'),
    waiting: integer('requests waiting for a connection'),
  }),
  process: object('ProcessLoad', {
    workers: integer('serving processes'),
    cpu: number('processors in use'),
    memoryBytes: integer('resident memory'),
    eventLoopP99Ms: ms('99th percentile of event loop delay'),
  }),
});
